"""What a triage asks of an interpreter on a kind of device, as cells: each may be run on another host."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TypeVar

from shrinkray_gpu.cells.cell import Cell, Row, gpu_needs
from shrinkray_gpu.cells.shipped_files import Files, packed, renamed
from shrinkray_gpu.cells.sick_gpu import checked
from shrinkray_gpu.errors import ShrinkError
from shrinkray_gpu.runner import cores
from shrinkray_gpu.runner.gpu_groups import GpuGroups
from shrinkray_gpu.triage.clusters import FailureMember
from shrinkray_gpu.triage.reductions import FAILED, Reducing, reduced
from shrinkray_gpu.triage.reported import ReportedFailure
from shrinkray_gpu.triage.reruns import Rerun, Reruns, TriagePlace
from shrinkray_gpu.triage.session import run_session

C = TypeVar("C", bound="TriageCell")
LEAST = 30.0
"""Seconds of search below which no reduction is begun."""
JOBS = 2
"""Lanes of a reduction on a cluster, and the cores that it takes there, if nobody says."""
WAITS = "waits"
"""Key of the row of a reduction whose turn did not come."""
FILES = "files"
"""Key of what a reduction on another host wrote."""


@dataclass(frozen=True)
class TriageCell(Cell[Reruns]):
    """A question about tests or capsules in a place."""

    where: TriagePlace
    moved_from: Path | None = None
    """The working directory here, where that was shipped."""

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def place(self) -> Hashable:
        where = self.where
        environment = tuple(sorted(where.environment.items()))
        return where.python, where.arch, environment, where.cwd, where.timeout, where.settings, where.accelerator

    @property
    def is_late(self) -> bool:
        """Whether there is too little time left to begin it."""
        return False

    @property
    def needs(self) -> Mapping[str, float]:
        return gpu_needs(self.where.arch, self.where.accelerator)

    @property
    def files(self) -> Sequence[Path]:
        return (self.where.cwd,)

    def moved(self: C, places: Mapping[Path, Path]) -> C:
        before, now = self.where.cwd, places[self.where.cwd]
        environment = {name: value.replace(str(before), str(now)) for name, value in self.where.environment.items()}
        return replace(self, where=replace(self.where, cwd=now, environment=environment), moved_from=before)

    def open(self, jobs: int) -> Reruns:
        return Reruns(self.where, jobs)

    def run(self, lanes: Reruns) -> Row:
        try:
            row = self.answer(lanes)
        except (ShrinkError, OSError, UnicodeError) as error:
            row = self.lost(str(error))
        if self.moved_from is None:
            return row
        held: Files | None = row.pop(FILES, None)
        names = {str(self.where.cwd): str(self.moved_from)}
        told: Row = renamed(row, names)
        return {**told, FILES: _as_here(held, names)} if held is not None else told

    @abstractmethod
    def answer(self, lanes: Reruns) -> Row:
        """Its row, with the names of where it is run."""

    def lost(self, why: str) -> Row:
        return {"failed": why}


@dataclass(frozen=True)
class VersionsCell(TriageCell):
    """Which versions run the failures."""

    def answer(self, lanes: Reruns) -> Row:
        return {"versions": dict(lanes.place.versions)}


@dataclass(frozen=True)
class CollectedCell(TriageCell):
    """The node ids that pytest collects."""

    args: tuple[str, ...] = ()

    def answer(self, lanes: Reruns) -> Row:
        return {"nodes": lanes.tests(self.args)}


@dataclass(frozen=True)
class SessionCell(TriageCell):
    """The failures of a session of pytest, which writes `record`. On another host it begins anew."""

    args: tuple[str, ...] = ()
    record: Path = Path()

    def answer(self, lanes: Reruns) -> Row:
        record = self.record if self.moved_from is None else lanes.folder / self.record.name
        said: list[str] = []
        found = run_session(self.args, lanes.place, record, said.append)
        return {"failures": [asdict(each) for each in found], "said": said[1:]}


@dataclass(frozen=True)
class _RerunCell(TriageCell):
    """A run, and what it shows."""

    def answer(self, lanes: Reruns) -> Row:
        found = self.found(lanes)
        doubtful = found.unsettled or (found.fault is not None and found.fault.phase == "device")
        row = {"found": found.to_json(), "versions": dict(lanes.place.versions)}
        return checked(row, GpuGroups(), lambda: row) if doubtful and self.where.arch is None else row

    @abstractmethod
    def found(self, lanes: Reruns) -> Rerun: ...

    def lost(self, why: str) -> Row:
        return {"found": Rerun(trouble=why, runs=0, unsettled=True).to_json()}


@dataclass(frozen=True)
class FirstRunCell(_RerunCell):
    """One run of a test of which nobody knows whether it fails."""

    node: str = ""

    @property
    def name(self) -> str:
        return self.node

    def found(self, lanes: Reruns) -> Rerun:
        return lanes.first_run(self.node)


@dataclass(frozen=True, kw_only=True)
class FailureCell(_RerunCell):
    """A failure once more, by itself."""

    report: ReportedFailure

    @property
    def name(self) -> str:
        return self.report.name

    @property
    def files(self) -> Sequence[Path]:
        return (*super().files, *_capsule(self.report))

    def moved(self, places: Mapping[Path, Path]) -> FailureCell:
        return replace(super().moved(places), report=_moved(self.report, places))

    def found(self, lanes: Reruns) -> Rerun:
        return lanes.rerun(self.report)


@dataclass(frozen=True, kw_only=True)
class AgainCell(FailureCell):
    """A test that was seen, a few times more."""

    seen: Rerun

    def found(self, lanes: Reruns) -> Rerun:
        return lanes.again(self.report.node, self.seen)

    def lost(self, why: str) -> Row:
        """Nobody asks again: what showed before is reduced."""
        return {"found": replace(self.seen, steady=True).to_json()}


@dataclass(frozen=True, kw_only=True)
class ReductionCell(TriageCell):
    """A member of a cluster, reduced into `folder`."""

    members: tuple[FailureMember, ...]
    """The cheapest first: it is reduced if it shows its fault."""
    reducing: Reducing
    folder: Path
    until: float
    """By the clock, when the budget is over."""

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def is_late(self) -> bool:
        return self.until - time.time() < min(LEAST, self.reducing.seconds)

    @property
    def cores(self) -> int:
        return self.reducing.jobs or JOBS

    @property
    def files(self) -> Sequence[Path]:
        return (*super().files, *(path for each in self.members for path in _capsule(each.reports[0])))

    def moved(self, places: Mapping[Path, Path]) -> ReductionCell:
        members = tuple(replace(each, reports=(_moved(each.reports[0], places),)) for each in self.members)
        words = self.reducing.words if self.reducing.jobs else ("--jobs", str(JOBS), *self.reducing.words)
        return replace(
            super().moved(places),
            members=members,
            reducing=replace(self.reducing, words=words, resumes=False),
        )

    def answer(self, lanes: Reruns) -> Row:
        if self.is_late:
            return {WAITS: True}
        seconds, reducing = min(self.reducing.seconds, self.until - time.time()), self.reducing
        if self.moved_from is None:
            if lanes.jobs > 1 and reducing.jobs is None:
                each = max(JOBS, cores.usable() // lanes.jobs)
                reducing = replace(reducing, words=("--jobs", str(each), *reducing.words))
            return reduced(self.members, lanes.place, reducing, self.folder, seconds, lanes.closing)
        folder = lanes.folder / self.folder.name
        told = reduced(self.members, lanes.place, reducing, folder, seconds, lanes.closing)
        names = {str(folder): str(self.folder)}
        held = _as_here(packed(folder) if folder.exists() else {}, names)
        return {**renamed(told, names), FILES: held}

    def lost(self, why: str) -> Row:
        return {"state": FAILED, "member": self.members[0].name, "why": why}


@dataclass(frozen=True, kw_only=True)
class ComparisonCell(TriageCell):
    """Why a repro does not have the fault of a failure; empty where nothing that is known speaks against it."""

    repro: str
    rerun: Rerun

    def answer(self, lanes: Reruns) -> Row:
        return {"why": lanes.explains(self.repro, self.rerun)}


def _capsule(report: ReportedFailure) -> Sequence[Path]:
    return (Path(report.capsule),) if report.capsule else ()


def _moved(report: ReportedFailure, places: Mapping[Path, Path]) -> ReportedFailure:
    return replace(report, capsule=str(places[Path(report.capsule)])) if report.capsule else report


def _as_here(files: Files, names: Mapping[str, str]) -> Files:
    """The files with other names in their text. What is no text stays as it is."""
    found = {}
    for name, data in files.items():
        try:
            found[name] = renamed(data.decode(), names).encode()
        except UnicodeDecodeError:
            found[name] = data
    return found
