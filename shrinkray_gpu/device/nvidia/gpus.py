"""What NVML says of the GPUs, without starting CUDA: the tool's own process must never hold a context."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

DEVICES = Path("/dev")


def present() -> bool:
    """Whether this machine has an NVIDIA device for this process."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return False
    # Libraries that ask for a GPU make nvidiactl (by nvidia-modprobe) where there is none, too.
    return driver() and (any(DEVICES.glob("nvidia[0-9]*")) or capability() is not None)


def driver() -> bool:
    """Whether this machine has NVIDIA's driver, be it that no device is visible."""
    return DEVICES.joinpath("nvidiactl").exists()


def capability() -> int | None:
    """Compute capability times ten of the first GPU (90: H100); None where NVML does not tell."""
    first, major, minor = _first_gpu(), ctypes.c_int(), ctypes.c_int()
    if first is None:
        return None
    nvml, device = first
    if nvml.nvmlDeviceGetCudaComputeCapability(device, ctypes.byref(major), ctypes.byref(minor)):
        return None
    return 10 * major.value + minor.value


def memory() -> float:
    """Memory of the first GPU in GiB; 0 where NVML does not tell."""
    first, sizes = _first_gpu(), (ctypes.c_ulonglong * 3)()  # total, free, used, in bytes
    if first is None:
        return 0.0
    nvml, device = first
    return 0.0 if nvml.nvmlDeviceGetMemoryInfo(device, ctypes.byref(sizes)) else sizes[0] / (1 << 30)


def _first_gpu() -> tuple[ctypes.CDLL, ctypes.c_void_p] | None:
    """NVML and its handle of the first GPU; None without either."""
    device = ctypes.c_void_p()
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    return None if nvml.nvmlInit_v2() or nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) else (nvml, device)
