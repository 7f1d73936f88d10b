"""What NVML and the driver say of the GPUs, without starting CUDA: the tool's own process must never hold a context."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from shrinkray_gpu.device.own_commands import answer_of
from shrinkray_gpu.errors import UsageError

DEVICES = Path("/dev")
KEEPS_ERRORS = True
NOTE = ""
_ASK = """
import ctypes
nvml, device = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p()
major, minor, sizes = ctypes.c_int(), ctypes.c_int(), (ctypes.c_ulonglong * 3)()  # total, free, used, in bytes
if not nvml.nvmlInit_v2() and not nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)):
    nvml.nvmlDeviceGetCudaComputeCapability(device, ctypes.byref(major), ctypes.byref(minor))
    nvml.nvmlDeviceGetMemoryInfo(device, ctypes.byref(sizes))
    print(major.value, minor.value, sizes[0])
"""
"""Ends with an exception, which nobody reads, where there is no NVML."""
_LIST = """
import ctypes, json, uuid
cuda, count, found = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), []
assert cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0
for device in range(count.value):
    name, own = ctypes.create_string_buffer(256), (ctypes.c_ubyte * 16)()
    assert cuda.cuDeviceGetName(name, 256, device) == 0 and cuda.cuDeviceGetUuid_v2(own, device) == 0
    found.append((f"GPU-{uuid.UUID(bytes=bytes(own))}", name.value.decode()))
print(json.dumps(found))
"""
"""The devices that a program sees, in its order. Makes no context."""
_PROBE = """
import ctypes
cuda, context, memory = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_uint64()
host = (ctypes.c_ubyte * 4096)()
for step, code in (
    ("cuInit", lambda: cuda.cuInit(0)),
    ("cuDevicePrimaryCtxRetain", lambda: cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)),
    ("cuCtxSetCurrent", lambda: cuda.cuCtxSetCurrent(context)),
    ("cuMemAlloc", lambda: cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4096))),
    ("cuMemsetD8", lambda: cuda.cuMemsetD8_v2(memory, ctypes.c_ubyte(7), ctypes.c_size_t(4096))),
    ("cuCtxSynchronize", lambda: cuda.cuCtxSynchronize()),
    ("cuMemcpyDtoH", lambda: cuda.cuMemcpyDtoH_v2(host, memory, ctypes.c_size_t(4096))),
):
    error = code()
    if error:
        print("well" if error in (2, 46) else f"{step} gives error {error}")  # it is full, or another's alone
        break
else:
    print("well" if bytes(host) == bytes([7]) * 4096 else "memory does not hold what is written to it")
"""
"""Of the first device, which is 0 for the driver as well: it counts the visible ones alone."""


def present() -> bool:
    """Whether this machine has an NVIDIA device for this process."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return False
    # Libraries that ask for a GPU make nvidiactl (by nvidia-modprobe) where there is none, too.
    return driver() and (any(DEVICES.glob("nvidia[0-9]*")) or capability() is not None)


def driver() -> bool:
    """Whether this machine has NVIDIA's driver, be it that no device is visible."""
    return DEVICES.joinpath("nvidiactl").exists()


def sharing(environment: Mapping[str, str]) -> str:
    """The folder of CUDA MPS where that is active: one client's fault ends the work of all then. Else empty."""
    pipe = environment.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps")
    return pipe if Path(pipe, "control").exists() else ""


def capability() -> int | None:
    """Compute capability times ten of the first GPU (90: H100); None where NVML does not tell."""
    major, minor, _ = _first_gpu()
    return 10 * major + minor if major else None


def memory() -> float:
    """Memory of the first GPU in GiB; 0 where NVML does not tell."""
    return _first_gpu()[2] / (1 << 30)


def visible(environment: Mapping[str, str]) -> Sequence[tuple[str, str]]:
    """Each GPU that a program with this environment sees: what names it in CUDA_VISIBLE_DEVICES, and its model. Empty
    where it sees one at most, or nobody tells."""
    named = [name.strip() for name in environment.get("CUDA_VISIBLE_DEVICES", "").split(",") if name.strip()]
    if any(name.startswith("MIG") for name in named):  # of which CUDA shows a process the first alone
        return [(name, "") for name in named]
    if len(named) == 1 or len([*DEVICES.glob("nvidia[0-9]*")]) == 1:
        return []  # one at most, and the driver need not be asked
    try:
        found: list[tuple[str, str]] = [(name, model) for name, model in json.loads(answer_of(_LIST, environment))]
    except (TimeoutError, ValueError):
        return []
    return found


def trouble(device: str = "") -> str:
    """Why a program that sets 4 KiB of memory fails on a GPU, in a process of its own; empty: it does well, or the GPU
    is full or another's alone, which says nothing of its health. `device`: as CUDA_VISIBLE_DEVICES names it; empty: the
    first."""
    try:
        chosen = {**os.environ, "CUDA_VISIBLE_DEVICES": device} if device else os.environ
        said = answer_of(_PROBE, chosen).strip()
    except TimeoutError as error:
        return f"the driver gives {error}"
    return "" if said == "well" else said or "the driver cannot be loaded"


@cache
def _first_gpu() -> tuple[int, int, int]:
    """Its compute capability and bytes of memory, each 0 where NVML does not tell. Raises UsageError where NVML gives
    no answer."""
    try:
        told = answer_of(_ASK).split()
    except TimeoutError as error:
        raise UsageError(
            f"NVML gave {error}: the GPU may be lost. See what nvidia-smi says, or do without a GPU (--arch sm_90)"
        ) from error
    major, minor, size = map(int, told) if len(told) == 3 else (0, 0, 0)
    return major, minor, size
