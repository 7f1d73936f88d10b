"""What an instrument is: one more look at a program that faults, what that costs, and what it has to say."""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shrinkray_gpu.device import gpus
from shrinkray_gpu.device.record import Record
from shrinkray_gpu.evidence.sights import Sight
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import COLD, Pool, Script
from shrinkray_gpu.runner.run import Run

PRESENT, MISSING, SKIPPED = "present", "missing", "not asked"
WANTS = ("ttir", "ttgir", "llir", "ptx", "amdgcn", "cubin", "lines")
"""What a run must deliver for the kernel's code to be read, and for lines in what a static rule says."""
NO_GPU = "needs the real GPU: run this where there is one, without --arch"


@dataclass(frozen=True)
class Statement:
    """One instrument's word."""

    instrument: str
    state: str
    """`present`, `missing` (why, and how to get it), `not asked`."""
    text: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Subject:
    """A program, and how it is run."""

    text: str
    script: Script
    setup: Setup
    seconds: float
    """That a plain run may take."""
    folder: Path
    """For caches and dumps of this examination alone."""
    extra: float = COLD
    """Seconds more, for imports."""

    @property
    def gpu(self) -> bool:
        return self.setup.arch is None and gpus.present()

    @property
    def fence(self) -> Setup | None:
        """That of a candidate; the user's own program has none."""
        return self.setup if self.setup.confine and self.text != self.script.original else None

    @property
    def environment(self) -> Mapping[str, str]:
        """Of the plain passes. They share a cache of kernels, so that all of them run the same cubin."""
        return {**self.setup.environment, "TRITON_CACHE_DIR": str(self.folder / "triton")}


class Cost(enum.Enum):
    """When an instrument is asked, by what it costs."""

    CHECKPOINT = "at each checkpoint"
    PERSON = "for a person who waits"
    INTERMITTENT = "for a fault that comes and goes"
    REQUEST = "on request"


@dataclass(frozen=True)
class Observation:
    """What an instrument has to say of one program."""

    said: Statement
    sights: tuple[Sight, ...] = ()
    """Where it saw the fault, the surest first."""
    address: tuple[str, ...] = ()
    """What it tells of the address, a line each: `the address (memcheck): ...`."""
    records: tuple[Record, ...] = ()
    """Findings of which one may be the fault itself, see `sights.telling`."""
    text: str = ""
    """All that it said, for the artifacts."""
    predicts: int = 0
    """The error that it predicts where it has not seen one: its sights count only for a fault with this code."""

    @classmethod
    def present(cls, instrument: str, said: str, seconds: float = 0.0, **others: Any) -> Observation:
        """Of an instrument that was asked. `others` are further fields."""
        return cls(Statement(instrument, PRESENT, said, seconds), **others)

    @classmethod
    def missing(cls, instrument: str, why: str, seconds: float = 0.0) -> Observation:
        return cls(Statement(instrument, MISSING, why, seconds))


def of_a_device(fault: Fault | None, intermittent: bool) -> bool:
    """Whether there is something on the device to look at. A fault that comes and goes may have stayed away."""
    return intermittent or (fault is not None and fault.phase == "device")


@dataclass(frozen=True)
class Instrument:
    """One of the list in `instruments`."""

    name: str
    cost: Cost
    look: Callable[[Subject, Run | None], Observation] | None
    """At the program, with its first run if that has ended. None: it reads what the first run has left."""
    applies: Callable[[Fault | None, bool], bool] = of_a_device


def watched(subject: Subject, script: Script, setup: Setup) -> tuple[Run, float]:
    """A cold run of ours, and how long that took."""
    started = time.monotonic()
    pool = Pool(script, setup, mode="cold", jobs=1, seconds=subject.seconds, extra=subject.extra)
    try:
        return pool.cold(subject.text), time.monotonic() - started
    finally:
        pool.close()
