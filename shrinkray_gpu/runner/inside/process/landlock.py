"""Landlock: from here on this thread and its children write only below the folders named, and reach nobody outside.

A reducer runs programs that nobody wrote. One that lost the line `name = ...` before `rmtree(join(root, name))`
deletes `root`; this is the fence for that day. Reading stays free. How much of it there is, the kernel decides: WRITES
since Linux 5.13, TCP since 6.7, SIGNALS (with sockets of abstract names) since 6.12. The caller is told what holds.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable
from functools import lru_cache
from glob import glob
from typing import List, Tuple

WRITES, TCP, SIGNALS = "writes", "TCP", "signals"
"""Parts of the fence."""
CREATE, ADD, RESTRICT = 444, 445, 446
NO_NEW_PRIVS = 38
PATH_BENEATH = 1
WRITE_FILE, REMOVE_DIR, REMOVE_FILE = 1 << 1, 1 << 4, 1 << 5
MAKE = sum(1 << bit for bit in (7, 8, 9, 10, 12))  # dir, reg, sock, fifo, sym
MAKE_DEVICE = 1 << 6 | 1 << 11  # char, block: by such a file in any folder root writes a disk
REFER, TRUNCATE = 1 << 13, 1 << 14
BIND_TCP, CONNECT_TCP = 1 << 0, 1 << 1
ABSTRACT_SOCKETS, SIGNAL = 1 << 0, 1 << 1
SHARED_MEMORY = "/dev/shm"
DEVICES = (
    "/dev/nvidia*",
    "/dev/nvmap",
    "/dev/nvhost-*",
    "/dev/nvgpu",
    "/dev/dxg",
    "/dev/dri",
    "/dev/kfd",
    "/dev/infiniband",
    "/dev/gdrdrv",
)
"""GPUs of a PC, of a Jetson, of WSL and of AMD's, and what processes on several of them talk by."""
ALWAYS = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", SHARED_MEMORY, "/proc/self", *DEVICES)
"""Outside of the folders named, all that may be written. Standard output may be opened by its name in /proc, too: it is
a pipe, and no path leads to that."""


def level() -> int:
    """Of Landlock, as the kernel counts; 0 without it."""
    return max(0, int(ctypes.CDLL(None).syscall(CREATE, None, 0, 1)))


DEVICE_FOLDER = "/dev"


@lru_cache(None)  # half of what the fence takes of a child that is forked for one candidate
def always() -> Tuple[str, ...]:
    """What there is of ALWAYS. Where the driver makes a device for whoever comes first, all of /dev: it may be us."""
    late = os.path.exists("/proc/driver/nvidia") and not os.path.exists("/dev/nvidia-uvm")
    return (*(path for pattern in ALWAYS for path in sorted(glob(pattern))), *[DEVICE_FOLDER] * late)


def confine(writable: Iterable[str], left_open: Iterable[str] = ()) -> List[str]:
    """Allow writes below `writable` (and ALWAYS) only, no TCP, and signals to what is started from here on only, but
    for the parts `left_open`. Returns the parts that hold."""
    libc, version, omitted = ctypes.CDLL(None, use_errno=True), level(), set(left_open)
    held = [part for part, least in ((WRITES, 1), (TCP, 4), (SIGNALS, 6)) if version >= least and part not in omitted]
    if not held:
        return []
    writes = WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE
    if version >= 2:
        writes |= REFER
    if version >= 3:
        writes |= TRUNCATE
    handled = [
        writes | MAKE_DEVICE if WRITES in held else 0,
        BIND_TCP | CONNECT_TCP if TCP in held else 0,
        ABSTRACT_SOCKETS | SIGNAL if SIGNALS in held else 0,
    ]
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    attributes = ctypes.create_string_buffer(struct.pack("3Q", *handled)[:size], size)
    ruleset = libc.syscall(CREATE, attributes, ctypes.c_size_t(size), 0)
    if ruleset < 0:
        return []
    try:
        for path in (*always(), *writable) if WRITES in held else ():
            _allow(libc, ruleset, path, writes | (MAKE_DEVICE if path == DEVICE_FOLDER else 0))
        libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0)
        return held if libc.syscall(RESTRICT, ruleset, 0) == 0 else []
    finally:
        os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, writes: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not os.path.isdir(path):
        writes &= WRITE_FILE | TRUNCATE  # the kernel refuses a rule on a file that says more
    rule = ctypes.create_string_buffer(struct.pack("=Qi", writes, place))
    libc.syscall(ADD, ruleset, PATH_BENEATH, rule, 0)
    os.close(place)
