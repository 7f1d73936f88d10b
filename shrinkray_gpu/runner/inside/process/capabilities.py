"""What root may do beside using all files: less from here on, since some of it leads around the fence.

By `open_tree` root has a copy of /proc over which nothing is mounted; it loads modules, sets the clock, stops the
machine. Containers of docker lack nearly the same, and a GPU works there.
"""

from __future__ import annotations

import ctypes
import os
import struct

CALLS = {"x86_64": (125, 126), "aarch64": (90, 91)}
"""By processor: `capget` and `capset`."""
VERSION = 0x20080522
KEPT = sum(1 << number for number in (0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 18, 19, 23, 24, 29, 31))
"""Those on files, processes, users, ports, packets, locked memory, System V, `chroot`, `ptrace`, priorities and limits,
a bit each."""


def drop(kept: int = KEPT) -> bool:
    """Have no more of them than these. Programs that are started do not get them back where
    `no_new_privs` holds. False where the kernel does not let us."""
    if os.uname().machine not in CALLS:
        return False
    get, put = CALLS[os.uname().machine]
    libc, head = ctypes.CDLL(None, use_errno=True), struct.pack("Ii", VERSION, 0)
    held = ctypes.create_string_buffer(24)
    if libc.syscall(get, head, held):
        return False
    masks = [kept & 0xFFFFFFFF] * 3 + [kept >> 32] * 3
    fewer = struct.pack("6I", *(mask & now for mask, now in zip(masks, struct.unpack("6I", held.raw))))
    return int(libc.syscall(put, head, fewer)) == 0
