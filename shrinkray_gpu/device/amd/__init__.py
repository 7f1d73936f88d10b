"""AMD's GPUs, as far as they need none: what `--arch` compiles for, and the errors of ROCm in a log.

Nothing here asks a GPU of AMD's: its debugger and its disassembler have no module.
"""

from shrinkray_gpu.device.amd import amdgcn as amdgcn
from shrinkray_gpu.device.amd import architectures as architectures
from shrinkray_gpu.device.amd import code_figures as code_figures
from shrinkray_gpu.device.amd import error_table as error_table
