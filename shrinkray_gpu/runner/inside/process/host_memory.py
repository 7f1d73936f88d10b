"""The host's memory: how much is left, and who holds it. By the machine and by the control groups around a process.

A limit on addresses would not do: CUDA reserves as many as the machine and all GPUs have bytes.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Dict, Iterable, List, Optional, Tuple

from . import descendants

LEAST, MOST, SHARE = 512 << 20, 8 << 30, 16
"""Of what is kept free: bytes at least and at most, and as a share of the memory that there is."""
FILES = (("memory.max", "memory.current", ""), ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"))
"""Of a group of version 2 and of version 1: its limit, its use, and the beginning of the words in its statistics."""
COUNTERS = ("memory.events", "memory.oom_control")
"""Files of a group in which the kernel counts the processes that it killed for their memory."""


class Group:
    """A control group that counts memory."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        version_1 = os.path.exists(os.path.join(folder, FILES[1][0]))
        self.limit_file, self.use_file, self.prefix = FILES[version_1]
        self.counter = os.path.join(folder, COUNTERS[version_1])

    def limit(self) -> Optional[int]:
        """In bytes; None where there is none."""
        with suppress(OSError, ValueError):  # "max"; the root group has no such file
            return int(_read(os.path.join(self.folder, self.limit_file)))
        return None

    def left(self, enough: int) -> Optional[int]:
        """Bytes until its limit, what the kernel can drop counted as free; None without a limit. Where it is clear that
        `enough` are left, that much is looked at and no more."""
        limit = self.limit()
        if limit is None:
            return None
        left = limit - int(_read(os.path.join(self.folder, self.use_file)))
        if left >= enough:
            return left
        words = _numbers(os.path.join(self.folder, "memory.stat"))
        return left + words.get(self.prefix + "inactive_file", 0) + words.get(self.prefix + "active_file", 0)


def groups() -> List[Group]:
    """Those that this process is in, the innermost first; none where the kernel or the container shows none."""
    found: List[Group] = []
    with suppress(OSError):
        mounts = {}
        for line in _read("/proc/self/mounts").splitlines():
            _, place, kind, options = line.split(" ")[:4]
            if kind == "cgroup2" or (kind == "cgroup" and "memory" in options.split(",")):
                mounts[kind] = place
        for line in _read("/proc/self/cgroup").splitlines():
            _, controllers, path = line.split(":", 2)
            root = mounts.get("cgroup2" if not controllers else "cgroup" if "memory" in controllers.split(",") else "")
            if root is None:
                continue
            folder = os.path.normpath(root + path)
            folder = folder if os.path.isdir(folder) else root  # a container sees its own group as the root
            counted = os.path.exists(os.path.join(folder, "memory.stat"))
            while counted and folder.startswith(root):
                found.append(Group(folder))
                folder = os.path.dirname(folder)
    return found


def total(around: Iterable[Group]) -> int:
    """Bytes of memory that there are for processes in these groups."""
    limits = [limit for limit in (group.limit() for group in around) if limit is not None]
    return min([_numbers("/proc/meminfo")["MemTotal:"] << 10, *limits])


def kept_free(around: Iterable[Group]) -> int:
    """Bytes that candidates leave to all else."""
    return min(max(LEAST, total(around) // SHARE), MOST)


def left(around: Iterable[Group], enough: int) -> int:
    """Bytes that may still be taken; where `enough` are left, maybe fewer than there are."""
    free = _numbers("/proc/meminfo")["MemAvailable:"] << 10
    for group in around:
        with suppress(OSError, ValueError):
            in_group = group.left(enough)
            free = free if in_group is None else min(free, in_group)
    return free


def held(pids: Iterable[int]) -> int:
    """Bytes that these processes and all below them hold for themselves."""
    found = 0
    for pid in pids:
        with suppress(OSError):
            numbers = _numbers("/proc/%d/status" % pid)
            found += (numbers.get("RssAnon:", 0) + numbers.get("RssShmem:", 0)) << 10
        found += held(descendants.children(pid))
    return found


def kills(counter: str) -> int:
    """Processes that the kernel killed for their memory so far, by this file."""
    with suppress(OSError):
        return _numbers(counter).get("oom_kill", 0)
    return 0


class Watch:
    """On what candidates hold, by the process that starts them."""

    def __init__(self, limit: int) -> None:
        """`limit`: bytes for all candidates together; 0: as many as the machine has, but for what is kept free."""
        self.limit, self.groups = limit, groups()
        self.least = kept_free(self.groups)

    def largest(self, units: Iterable[Iterable[int]]) -> Optional[Tuple[List[int], int]]:
        """Which of the candidates is to be ended, by the processes that it began with, and the bytes that it holds:
        where memory runs short the one that holds most. None where all may go on, or none holds much."""
        if not self.limit and left(self.groups, self.least) >= self.least:
            return None
        sizes = sorted((held(pids), list(pids)) for pids in units)
        if not sizes or (self.limit and sum(size for size, _ in sizes) <= self.limit):
            return None
        size, pids = sizes[-1]
        return (pids, size) if self.limit or size > self.least else None


def _read(path: str) -> str:
    with open(path) as file:
        return file.read()


def _numbers(path: str) -> Dict[str, int]:
    """The first two words of each line, where the second is a number."""
    pairs = (line.split()[:2] for line in _read(path).splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}
