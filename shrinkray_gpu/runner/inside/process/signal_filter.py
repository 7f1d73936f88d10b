"""A filter of system calls. It keeps a process from the limits of others, which end them as a signal does. For kernels
whose Landlock refuses no signals it refuses those to what is above this process, and to all processes.

One `os.kill(pid, 9)` whose pid became -1 ends the user's session. A filter sees that number, and knows no other
processes by name: what is beside this process can be signalled.
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
    "x86_64": (0xC000003E, 317, 302, (62, 200, 234, 129, 297, 434)),
    "aarch64": (0xC00000B7, 277, 261, (129, 130, 131, 138, 240, 434)),
}
"""By processor: its name in a filter, `seccomp`, `prlimit64`, and `kill`, `tkill`, `tgkill`, `rt_sigqueueinfo`,
`rt_tgsigqueueinfo` and `pidfd_open`. The first argument of all but the second is a process."""
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
NUMBER, PROCESSOR, FIRST = 0, 4, 16
"""Where in what a filter is told the number of the call is, the processor, and the lower half of the first argument."""
ALLOW, REFUSE = 0x7FFF0000, 0x00050001
"""The latter with EPERM."""
SET_FILTER, NO_SLOWER = 1, 1 << 2
NO_NEW_PRIVS = 38
Step = Tuple[int, int, int, int]
"""What to do, how many steps to jump over where a comparison holds and where it does not, and the number."""


def begin(*, signals: bool) -> bool:
    """Refuse from here on to read or set limits of other processes; with `signals`, those signals too. False where the
    kernel does not let us."""
    if os.uname().machine not in CALLS:
        return False
    processor, seccomp, limits, calls = CALLS[os.uname().machine]
    program: List[Step] = [(LOAD, 0, 0, PROCESSOR), (EQUAL, 1, 0, processor), (RETURN, 0, 0, ALLOW)]
    program += [(LOAD, 0, 0, NUMBER), *_where((limits,), [0, os.getpid()], ALLOW, REFUSE)]
    if signals:
        pids = [-1, *(number for pid in _above() for number in (pid, -pid))][:200]  # a step jumps over 255 at most
        program += _where(calls, pids, REFUSE, ALLOW)
    program += [(RETURN, 0, 0, ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    libc = ctypes.CDLL(None)
    libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0)
    head = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    return int(libc.syscall(seccomp, SET_FILTER, NO_SLOWER, head)) == 0


def _where(calls: Tuple[int, ...], pids: List[int], these: int, others: int) -> List[Step]:
    """After the number of the call was loaded: for one of `calls`, what is returned for `pids`, and for others."""
    block: List[Step] = [(LOAD, 0, 0, FIRST)]
    block += [(EQUAL, len(pids) - at, 0, pid & 0xFFFFFFFF) for at, pid in enumerate(pids)]
    block += [(RETURN, 0, 0, others), (RETURN, 0, 0, these)]
    last = len(calls) - 1
    return [(EQUAL, last - at, len(block) * (at == last), number) for at, number in enumerate(calls)] + block


def _above() -> Iterator[int]:
    pid = os.getppid()
    with suppress(OSError, ValueError):
        while pid > 1:
            yield pid
            with open("/proc/%d/stat" % pid) as stat:
                pid = int(stat.read().rpartition(")")[2].split()[1])
