"""What is the kernel's own below /proc: from here on nobody in this process or its children writes there.

A child's folder below /proc has a name that nobody knows before it starts, and Landlock allows only what is named. So
all of /proc is opened for writes, and what is not a process's is taken out. The driver of an NVIDIA GPU (580.159)
names its threads in /proc/self/task/*/comm; where it may not, it says "OS call failed" and starts no context.
"""

from __future__ import annotations

import ctypes
import os

FOLDER = "/proc"
KERNEL = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs")
"""What root writes there. A container has these read-only as a rule."""
NEW_MOUNTS = 0x00020000
READ_ONLY, REMOUNT, BIND, REC, PRIVATE = 1, 1 << 5, 1 << 12, 1 << 14, 1 << 18


def protect() -> bool:
    """Whether the rest of /proc may be opened: KERNEL is read-only now, in a mount namespace if it was not before."""
    if not _writable():
        return True
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(NEW_MOUNTS) or libc.mount(None, b"/", None, REC | PRIVATE, None):
        return False
    for path in filter(os.path.exists, KERNEL):
        place = path.encode()
        if not libc.mount(place, place, None, BIND, None):
            libc.mount(None, place, None, REMOUNT | BIND | READ_ONLY, None)
    return not _writable()


def _writable() -> bool:
    return any(os.access(path, os.W_OK) for path in KERNEL)
