"""What was started below a process, and its end.

What loses its parent becomes a child of the nearest process above that adopts, whatever group or session it is in.
Where the kernel does not list children (CONFIG_PROC_CHILDREN), only the groups of lanes are ended.
"""

from __future__ import annotations

import ctypes
import os
import signal
from contextlib import suppress
from os import getpid, kill, waitpid  # as they are before a candidate replaces them
from time import monotonic, sleep
from typing import Iterable, Iterator, List, Tuple

ADOPT = 36
PATIENCE = 3.0
"""Seconds in which processes that were killed end; a context on a GPU takes some of them."""
SPARED = (b"multiprocessing.resource_tracker", b"torch_shm_manager", b"read _; cat /proc/self/fd/")
"""In commands of processes that end by themselves, after their program: what removes the shared memory that it left,
by Python and by torch, whose tensors abort the program when their manager is gone first; and the shell of
`compiler_output`."""


def adopt() -> None:
    """From here on, what loses its parent below this process becomes a child of this process."""
    ctypes.CDLL(None).prctl(ADOPT, 1, 0, 0, 0)


def children(pid: int) -> List[int]:
    """The living children of a process, and those that nobody has waited for; none where it is gone."""
    found: List[int] = []
    with suppress(OSError):
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, task)) as listed:
                found += map(int, listed.read().split())
    return found


def ended() -> Iterator[Tuple[int, int]]:
    """Wait for the children that have ended. Their numbers and statuses, as `waitpid` has them."""
    with suppress(ChildProcessError):
        while True:
            pid, status = waitpid(-1, os.WNOHANG)
            if not pid:
                return
            yield pid, status


def end(pids: Iterable[int], *, spare: bool = True) -> int:
    """Kill these processes and all below them. Returns how many were spared, see SPARED."""
    spared = 0
    for pid in pids:
        if spare and _is_spared(pid):
            spared += 1
            continue
        below = children(pid)
        with suppress(OSError):
            kill(pid, signal.SIGKILL)
        spared += end(below, spare=spare)
    return spared


def end_children(cleaning: float = 0.0) -> bool:
    """End all that is below this process, what is spared after so many seconds. False where something goes on."""
    began, pause = monotonic(), 0.0005
    while _has_children():
        taken, below = monotonic() - began, children(getpid())
        spared = end(below, spare=taken <= cleaning or not cleaning)
        if taken > PATIENCE or (not cleaning and spared == len(below)):
            return False
        sleep(pause)
        pause = min(2 * pause, 0.02)
    return True


def _has_children() -> bool:
    try:
        while waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _is_spared(pid: int) -> bool:
    with suppress(OSError):
        for _ in range(20):
            command, stat = _read(pid, "cmdline"), _read(pid, "stat")
            if command or stat.rpartition(b") ")[2][:1] in b"ZX":
                break
            sleep(0.0005)  # it is becoming another program just now
        return any(words in command for words in SPARED)
    return False


def _read(pid: int, name: str) -> bytes:
    with open("/proc/%d/%s" % (pid, name), "rb") as opened:
        return opened.read()
