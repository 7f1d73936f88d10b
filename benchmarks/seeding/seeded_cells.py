"""A program with a planted fault as a cell: reduced, or explained. And the lanes in which repros are judged."""

from __future__ import annotations

import time
from collections.abc import Hashable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from shrinkray_gpu.cells.cell import Cell, Row
from shrinkray_gpu.runner.pool import Pool

from . import packages, reducing, runs, truth, verdicts
from .cases import Planted
from .oracles import ALONE, MEMCHECK

LATE = "late"
"""Key of the row of a fault whose turn did not come."""


class JudgingLanes:
    """What a repro shows is asked in these, so many at a time. `memcheck`: under compute-sanitizer on the GPU."""

    def __init__(self, machine: runs.Machine, jobs: int, *, memcheck: bool) -> None:
        self._open = ExitStack()
        self._plain = self._lanes(machine, jobs)
        terms: dict[str, Any] = {"sanitizer": MEMCHECK.sanitizer, "variables": ALONE}
        self._checked = self._lanes(machine, jobs, **terms) if memcheck else None

    def _lanes(self, machine: runs.Machine, jobs: int, **terms: Any) -> Pool:
        return self._open.enter_context(runs.lanes(machine, [packages.SITE], jobs, **terms))

    def headline(self, count: int) -> str:
        return ""

    def close(self) -> None:
        self._open.close()

    def ask(self, fault: Planted) -> reducing.Ask:
        if self._checked is not None:
            return partial(reducing.sanitized_outcome, self._plain, self._checked)
        return partial(reducing.outcome, self._plain, wants=fault.asked.wants)


@dataclass(frozen=True)
class SeededCell(Cell[JudgingLanes]):
    """A fault, reduced in `folder` and judged."""

    fault: Planted
    machine: runs.Machine
    folder: Path
    timeout: float
    options: tuple[str, ...] = ()
    memcheck: bool = False
    until: float = float("inf")
    """By the clock, when no more is begun."""

    @property
    def name(self) -> str:
        return self.fault.name

    @property
    def place(self) -> Hashable:
        return self.machine, self.memcheck

    def open(self, jobs: int) -> JudgingLanes:
        return JudgingLanes(self.machine, jobs, memcheck=self.memcheck)

    def run(self, lanes: JudgingLanes) -> Row:
        if time.time() > self.until:
            return {LATE: True}
        ask, options = lanes.ask(self.fault), list(self.options)
        told = reducing.reduce(self.fault, self.machine, ask, self.folder, timeout=self.timeout, options=options)
        return told.to_json()

    def lost(self, why: str) -> Row:
        return reducing.row(self.fault, truth.Judgement("refused", why), {}, 0.0).to_json()


class NoLanes:
    """What is asked starts processes of its own."""

    def headline(self, count: int) -> str:
        return ""

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class VerdictCell(Cell[NoLanes]):
    """What `shrink explain` says of a fault, asked in `folder`."""

    fault: Planted
    machine: runs.Machine
    folder: Path
    timeout: float
    until: float = float("inf")
    """By the clock, when no more is begun."""

    @property
    def name(self) -> str:
        return self.fault.name

    @property
    def place(self) -> Hashable:
        return self.machine

    def open(self, jobs: int) -> NoLanes:
        return NoLanes()

    def run(self, lanes: NoLanes) -> Row:
        if time.time() > self.until:
            return {LATE: True}
        return verdicts.ask(self.fault, self.machine, self.folder, timeout=self.timeout).to_json()

    def lost(self, why: str) -> Row:
        return verdicts.without_answer(self.fault, why, 0.0).to_json()
