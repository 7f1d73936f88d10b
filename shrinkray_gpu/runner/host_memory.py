"""Host memory of candidates: limited by a control group where one can be made, and watched in any case.

The keeper ends the candidate that holds most where memory runs short. What it is too slow for the kernel ends: in the
group, or, since candidates are the first that it takes, on the machine.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shrinkray_gpu.runner.inside.process import host_memory

SHORT = "host memory ran short"
"""Beginning of `Run.trouble` where that ended a run."""
PREFIX = "shrink-"
"""Of the names of control groups."""
SETTLED = 60.0
"""Seconds after which a group that has no process yet will get none."""
MACHINE = "/proc/vmstat"
"""Counts the processes that the kernel killed for their memory, where there is no group."""


@dataclass(frozen=True)
class MemoryTerms:
    """How the host memory of candidates is limited."""

    limit: int = 0
    """Bytes for all of them together; 0: as many as the machine has, but for a share that is kept free."""
    grouped: bool = True
    """Whether they are put into a control group of their own, where one can be made."""
    watched: bool = True


@dataclass(frozen=True)
class MemoryLimit:
    """What came of the terms."""

    terms: MemoryTerms
    group: str
    """Folder of the control group; empty where none could be made."""
    home: str
    """Of the group that this process is in."""

    def message(self) -> dict[str, Any]:
        """What the keeper is told."""
        return {"limit": self.terms.limit, "watched": self.terms.watched, "group": self.group, "home": self.home}

    def kills(self) -> int:
        """Processes that the kernel has killed for their memory so far, as far as they may be candidates."""
        return host_memory.kills(host_memory.Group(self.group).counter if self.group else MACHINE)

    def __str__(self) -> str:
        return "by a control group" if self.group else "watched" if self.terms.watched else "not limited"


def limit_memory(terms: MemoryTerms, keeper: Callable[[MemoryLimit], int]) -> MemoryLimit:
    """Have the processes below a keeper, which is started here and whose number is returned, in a control group of
    their own, if one can be made. It is gone when the keeper is."""
    limit = _with_group(terms) if terms.grouped else MemoryLimit(terms, "", "")
    pid = keeper(limit)
    if limit.group:
        try:
            Path(limit.group, "cgroup.procs").write_text(str(pid))
        except OSError:
            with suppress(OSError):
                os.rmdir(limit.group)
            return replace(limit, group="")
    return limit


def _with_group(terms: MemoryTerms) -> MemoryLimit:
    around, none = host_memory.groups(), MemoryLimit(terms, "", "")
    if not around:
        return none
    own = around[0]
    version_2 = own.limit_file == host_memory.FILES[0][0]
    # A group of version 2 that holds processes has no groups below it, but for the machine's first one.
    inner = version_2 and os.path.exists(os.path.join(own.folder, own.limit_file))
    place = os.path.dirname(own.folder) if inner else own.folder
    _remove_left(place)
    try:
        group = tempfile.mkdtemp(prefix=PREFIX, dir=place)
    except OSError:
        return none
    # A little more than the keeper allows, which ends all of a candidate at once.
    limit = terms.limit * 5 // 4 or host_memory.total(around) - host_memory.kept_free(around) // 2
    try:
        Path(group, own.limit_file).write_text(str(limit))
    except OSError:
        with suppress(OSError):
            os.rmdir(group)
        return none
    for name in ("memory.swap.max", "memory.memsw.limit_in_bytes"):
        with suppress(OSError):
            Path(group, name).write_text("0" if version_2 else str(limit))
    return MemoryLimit(terms, group, own.folder)


def _remove_left(place: str) -> None:
    """Remove the groups there whose keeper was killed. One with processes in it stays."""
    for group in Path(place).glob(f"{PREFIX}*"):
        with suppress(OSError):
            if time.time() - group.stat().st_mtime > SETTLED:
                group.rmdir()
