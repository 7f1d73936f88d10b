"""AMD's GPUs: what `--arch` compiles for, the errors of ROCm, the GPUs of a machine with ROCm, its debug agent.

What compiles runs on any machine. What asks a GPU of AMD's is written by AMD's documents, and no such GPU has been
here: `gpus`, `coredump` and `toolkit` say so. There is no disassembler and no sanitizer of AMD's.
"""

from shrinkray_gpu.device.amd import amdgcn as amdgcn
from shrinkray_gpu.device.amd import architectures as architectures
from shrinkray_gpu.device.amd import code_figures as code_figures
from shrinkray_gpu.device.amd import coredump as coredump
from shrinkray_gpu.device.amd import error_table as error_table
from shrinkray_gpu.device.amd import gpus as gpus
from shrinkray_gpu.device.amd import toolkit as toolkit
