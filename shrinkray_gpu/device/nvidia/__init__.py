"""NVIDIA's GPUs: CUDA's errors, NVML, cuda-gdb, nvdisasm, compute-sanitizer, the toolkit."""

from shrinkray_gpu.device.nvidia import (
    architectures,
    coredump,
    disassembly,
    error_table,
    gpus,
    sanitizer_records,
    toolkit,
)
from shrinkray_gpu.device.seam import Device

NVIDIA = Device(
    name="NVIDIA",
    error_table=error_table,
    gpus=gpus,
    coredump=coredump,
    disassembly=disassembly,
    sanitizer_records=sanitizer_records,
    toolkit=toolkit,
    architectures=architectures,
)
