"""Landlock: from here on this thread and its children write only below the folders named. Reading stays free.

A reducer runs programs that nobody wrote. One that lost the line `name = ...` before `rmtree(join(root, name))`
deletes `root`; this is the fence for that day. Where the kernel has no Landlock (before 5.13) there is none, and the
caller is told.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable

CREATE, ADD, RESTRICT = 444, 445, 446
NO_NEW_PRIVS = 38
PATH_BENEATH = 1
WRITE_FILE, REMOVE_DIR, REMOVE_FILE = 1 << 1, 1 << 4, 1 << 5
MAKE = sum(1 << bit for bit in (6, 7, 8, 9, 10, 11, 12))  # char, dir, reg, sock, fifo, block, sym
REFER, TRUNCATE = 1 << 13, 1 << 14
ALWAYS = ("/dev", "/proc")


def confine(writable: Iterable[str]) -> bool:
    """Allow writes below `writable` (and devices) only. Returns False where the kernel cannot."""
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(CREATE, None, 0, 1)
    if version < 1:
        return False
    writes = WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE
    if version >= 2:
        writes |= REFER
    if version >= 3:
        writes |= TRUNCATE
    attributes = ctypes.create_string_buffer(struct.pack("Q", writes))
    ruleset = libc.syscall(CREATE, attributes, ctypes.c_size_t(8), 0)
    if ruleset < 0:
        return False
    try:
        for path in (*ALWAYS, *writable):
            try:
                folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue
            rule = ctypes.create_string_buffer(struct.pack("=Qi", writes, folder))
            libc.syscall(ADD, ruleset, PATH_BENEATH, rule, 0)
            os.close(folder)
        libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0)
        return bool(libc.syscall(RESTRICT, ruleset, 0) == 0)
    finally:
        os.close(ruleset)
