"""Asks the CUDA driver, through ctypes, whether this process holds a sticky error. Never initialises CUDA.

HIP is waited for in the same way. A fault of AMD's device aborts the process then. Never run: no such GPU was here.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import time
from typing import Any, List, Tuple

NOT_INITIALISED = 3
"""CUDA's number for a driver that was not started."""
DUMPED = 3.0
"""Seconds that a core dump, and the error with it, may take."""
AT_REST = 0.5
"""Seconds without growth after which a dump counts as whole that does not look so. The driver pauses between parts."""

_ELF = struct.Struct("<40sQ10xHH2x")
"""Of a 64 bit header: where the table of sections is, the length of an entry, how many there are."""
_SECTION = struct.Struct("<4xI16xQQ")
"""Of such an entry: its kind, where the section is, how long."""
_NOBITS = 8
MOST_FILES = 4096
"""Open files that are looked at, where they cannot be listed."""


def is_initialised() -> bool:
    """Whether this process has started CUDA: after that a fork of it cannot use the GPU.

    CUDA opens nvidia-uvm. NVML, which torch asks for `is_available`, does no harm to a fork, but with driver 580 on an
    H100 opens it as well: so where it is open the driver itself is asked.
    """
    return _opened("/dev/kfd") or _has_cuda()


def _has_cuda() -> bool:
    return _opened("/dev/nvidia-uvm") and _current()[0] != NOT_INITIALISED


def _opened(device: str) -> bool:
    try:
        numbers = os.listdir("/proc/self/fd")
    except OSError:  # the candidate left no number free, by which a folder could be opened
        numbers = [str(number) for number in range(MOST_FILES)]
    for fd in numbers:
        try:
            if os.readlink(f"/proc/self/fd/{fd}").startswith(device):
                return True
        except OSError:
            continue
    return False


def _current() -> Tuple[int, ctypes.c_void_p]:
    """The driver's answer to which context is current, and that context. Starts nothing."""
    context = ctypes.c_void_p()
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:  # no driver, so nobody started it
        return NOT_INITIALISED, context
    return int(cuda.cuCtxGetCurrent(ctypes.byref(context))), context


def sticky() -> int:
    """Wait for the device and return the driver's error code (716: misaligned address), 0 if all is well.

    A sticky error stays with the context, so the code is right however often the script caught the exception.
    0 also where no context exists. A hung kernel hangs this call: the tool's timeout ends it.
    """
    if not is_initialised():
        return 0
    if _opened("/dev/kfd") and not _has_cuda():
        return _of_hip()
    code, context = _current()
    if code:
        return code
    cuda = ctypes.CDLL("libcuda.so.1")
    if not context.value and not _retain_primary(cuda):
        return 0
    return int(cuda.cuCtxSynchronize()) or _on_others(cuda)


def _of_hip() -> int:
    """Wait for AMD's device and return HIP's error code, which is CUDA's for the same; 0 where HIP is not loaded."""
    with open("/proc/self/maps") as maps:
        loaded = {line.split(None, 5)[5].strip() for line in maps if "/libamdhip64.so" in line}
    return int(ctypes.CDLL(min(loaded)).hipDeviceSynchronize()) if loaded else 0


def _on_others(cuda: ctypes.CDLL) -> int:
    """The error of any device, where several have a context: a kernel may have failed on another than the current."""
    devices = _active(cuda)
    for device in devices if len(devices) > 1 else ():
        context = ctypes.c_void_p()
        code = cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) or cuda.cuCtxPushCurrent_v2(context)
        if not code:
            code = cuda.cuCtxSynchronize()
            cuda.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
            cuda.cuDevicePrimaryCtxRelease_v2(device)
        if code:
            return int(code)
    return 0


def writes_dumps() -> bool:
    """Whether the environment asks for a core dump of a fault."""
    return os.environ.get("CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "0") != "0"


def dumping() -> bool:
    """Whether the environment asks for a core dump of a fault, and for the process to go on after it."""
    return "skip_abort" in os.environ.get("CUDA_COREDUMP_GENERATION_FLAGS", "")


def wait_for_dump(code: int) -> int:
    """Wait for the core dump of a fault: the driver writes it beside this thread, and it is lost with the process.

    Returns the driver's error code, `code` if there is one already: while a dump is made of a short kernel, a wait for
    the device ends well, and the error comes up to half a second later (driver 580.159, H100).
    """
    path = os.environ.get("CUDA_COREDUMP_FILE", "").replace("%p", str(os.getpid()))
    now = time.monotonic()
    end, size, since = now + DUMPED, -1, now
    while now < end:
        code = code or sticky()
        before, (size, whole) = size, _written(path)
        now = time.monotonic()
        since = since if size == before else now
        if code and size > 0 and (whole or now - since > AT_REST):
            break
        time.sleep(0.05)
    return code


def _written(path: str) -> Tuple[int, bool]:
    """Bytes of the file, -1 without one; and whether it is an ELF file with all of its sections."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            magic, table, length, count = _ELF.unpack(file.read(_ELF.size))
            file.seek(table)
            entries = [_SECTION.unpack(file.read(length)[: _SECTION.size]) for _ in range(count)]
    except OSError:
        return -1, False
    except struct.error:  # shorter than its table
        return size, False
    ends = [start + long for kind, start, long in entries if kind != _NOBITS]
    return size, magic.startswith(b"\x7fELF") and max(ends, default=size + 1) <= size


def current() -> bool:
    """Whether this thread has a context to work with; where the process has one, that is made so."""
    if not is_initialised():
        return False
    code, context = _current()
    return code == 0 and (bool(context.value) or _retain_primary(ctypes.CDLL("libcuda.so.1")))


def _retain_primary(cuda: ctypes.CDLL) -> bool:
    """Make the active primary context current in this thread; False if no device has one."""
    for device in _active(cuda)[:1]:
        context = ctypes.c_void_p()
        cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
        return bool(cuda.cuCtxSetCurrent(context) == 0)
    return False


def _active(cuda: ctypes.CDLL) -> List[ctypes.c_int]:
    """The devices that have a primary context in this process."""
    count, found = ctypes.c_int(), []
    if cuda.cuDeviceGetCount(ctypes.byref(count)):
        return []
    for index in range(count.value):
        device, flags, active = ctypes.c_int(), ctypes.c_uint(), ctypes.c_int()
        cuda.cuDeviceGet(ctypes.byref(device), index)
        cuda.cuDevicePrimaryCtxGetState(device, ctypes.byref(flags), ctypes.byref(active))
        if active.value:
            found.append(device)
    return found


def warm() -> dict[str, Any]:
    """Bring up a context and Triton's driver before a candidate arrives: 0.85 s that the candidate then does not wait.

    Returns the device's name, its compute capability times ten as `arch`, and its free memory in bytes.
    """
    import torch

    torch.empty(1, device="cuda")
    torch.cuda.synchronize()
    try:
        from triton.runtime import driver
    except ImportError:
        pass
    else:
        driver.active.get_current_target()  # type: ignore[attr-defined]
    major, minor = torch.cuda.get_device_capability()
    return {
        "name": torch.cuda.get_device_name(),
        "arch": 10 * major + minor,
        "free": torch.cuda.mem_get_info()[0],
    }


def peak_bytes() -> int:
    """The most device memory that torch held at once in this process, on the current device."""
    torch = _started_torch()
    try:
        return int(torch.cuda.max_memory_reserved()) if torch is not None else 0
    except RuntimeError:
        return 0  # the context is gone with its fault


def gpus_used() -> int:
    """How many devices a program like the one in this process must see: up to the last on which torch held memory."""
    torch = _started_torch()
    try:
        count = torch.cuda.device_count() if torch is not None else 0
        held = [torch.cuda.memory_stats(index).get("reserved_bytes.all.peak", 0) for index in range(count)]
    except RuntimeError:
        return 0
    return max((index for index, size in enumerate(held, 1) if size), default=0)


def _started_torch() -> Any:
    """The module, where it has started CUDA; else None."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and is_initialised() and torch.cuda.is_initialized() else None
