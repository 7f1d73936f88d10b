"""What is the kernel's own below /proc: from here on nobody in this process or its children writes there.

A child's folder below /proc has a name that nobody knows before it starts, and Landlock allows only what is named. So
all of /proc is opened for writes, and what is not a process's is taken out. The driver of an NVIDIA GPU (580.159)
names its threads in /proc/self/task/*/comm; where it may not, it says "OS call failed" and starts no context.
"""

from __future__ import annotations

import ctypes
import os
from typing import Iterable

FOLDER = "/proc"
KERNEL = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs")
"""What root writes there. A container has these read-only as a rule."""
ALSO = ("/proc/acpi", "/proc/scsi", "/proc/mtrr", "/proc/dynamic_debug")
"""What root writes there in a container too, as a rule: read-only where that can be had."""
TOLD = ("/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/core_pattern", *KERNEL[1:])
"""Where KERNEL can be written, one of these can. Of /proc/sys itself the kernel says no even to root, who may write
the files in it."""
NEW_MOUNTS = 0x00020000
READ_ONLY, REMOUNT, BIND, REC, PRIVATE = 1, 1 << 5, 1 << 12, 1 << 14, 1 << 18


def protect(writable: Iterable[str] = ()) -> bool:
    """Make KERNEL read-only, in a mount namespace if it was not so before, but for folders that are to stay `writable`.

    Returns whether it is, so that the rest of /proc may be opened.
    """
    if not _can_be_written():
        return True
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(NEW_MOUNTS) or libc.mount(None, FOLDER.encode(), None, REC | PRIVATE, None):
        return False
    for path in (*KERNEL, *ALSO):
        _mount(libc, path, READ_ONLY)
    done = not _can_be_written()
    for path in map(os.path.realpath, writable):
        if path.startswith(tuple(f"{each}{os.sep}" for each in KERNEL)) or path in KERNEL:
            _mount(libc, path, 0)
    return done


def _mount(libc: ctypes.CDLL, path: str, flags: int) -> None:
    """Once more where it is, with these flags."""
    place = path.encode()
    if not libc.mount(place, place, None, BIND, None):
        libc.mount(None, place, None, REMOUNT | BIND | flags, None)


def _can_be_written() -> bool:
    return any(os.access(path, os.W_OK) for path in TOLD)
