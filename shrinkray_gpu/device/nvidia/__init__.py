"""NVIDIA's GPUs: CUDA's errors, NVML, cuda-gdb, nvdisasm, compute-sanitizer, the toolkit."""

from shrinkray_gpu.device.nvidia import architectures as architectures
from shrinkray_gpu.device.nvidia import code_figures as code_figures
from shrinkray_gpu.device.nvidia import coredump as coredump
from shrinkray_gpu.device.nvidia import disassembly as disassembly
from shrinkray_gpu.device.nvidia import error_table as error_table
from shrinkray_gpu.device.nvidia import gpus as gpus
from shrinkray_gpu.device.nvidia import sanitizer_records as sanitizer_records
from shrinkray_gpu.device.nvidia import toolkit as toolkit
