"""No signals to what is above this process, nor to all processes: for kernels whose Landlock refuses none.

One `os.kill(pid, 9)` whose pid became -1 ends the user's session. A filter of system calls sees that number, and knows
no other processes by name: what is beside this process can be signalled.
"""

from __future__ import annotations

import ctypes
import os
import struct
from contextlib import suppress
from typing import Iterator, List, Tuple

PART = "signals to what is above it"
"""Part of the fence, where it has not all of `landlock.SIGNALS`."""
CALLS = {
    "x86_64": (0xC000003E, 317, (62, 200, 234, 129, 297, 434)),
    "aarch64": (0xC00000B7, 277, (129, 130, 131, 138, 240, 434)),
}
"""By processor: its name in a filter, `seccomp`, and `kill`, `tkill`, `tgkill`, `rt_sigqueueinfo`, `rt_tgsigqueueinfo`
and `pidfd_open`, whose first arguments are processes."""
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
NUMBER, PROCESSOR, FIRST = 0, 4, 16
"""Where in what a filter is told the number of the call is, the processor, and the lower half of the first argument."""
ALLOW, REFUSE = 0x7FFF0000, 0x00050001
"""The latter with EPERM."""
SET_FILTER, NO_SLOWER = 1, 1 << 2
NO_NEW_PRIVS = 38


def begin() -> bool:
    """Refuse such signals from here on. False where the kernel does not let us."""
    if os.uname().machine not in CALLS:
        return False
    processor, seccomp, calls = CALLS[os.uname().machine]
    pids = [-1, *(number for pid in _above() for number in (pid, -pid))][:200]  # a step jumps over 255 at most
    program: List[Tuple[int, int, int, int]] = [(LOAD, 0, 0, PROCESSOR), (EQUAL, 0, len(calls) + 1, processor)]
    program += [(LOAD, 0, 0, NUMBER)]
    program += [(EQUAL, len(calls) - at, 0, number) for at, number in enumerate(calls)]
    program += [(RETURN, 0, 0, ALLOW), (LOAD, 0, 0, FIRST)]
    program += [(EQUAL, len(pids) - at, 0, pid & 0xFFFFFFFF) for at, pid in enumerate(pids)]
    program += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    libc = ctypes.CDLL(None)
    libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0)
    head = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    return int(libc.syscall(seccomp, SET_FILTER, NO_SLOWER, head)) == 0


def _above() -> Iterator[int]:
    pid = os.getppid()
    with suppress(OSError, ValueError):
        while pid > 1:
            yield pid
            with open("/proc/%d/stat" % pid) as stat:
                pid = int(stat.read().rpartition(")")[2].split()[1])
