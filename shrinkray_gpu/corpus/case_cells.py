"""A case with one interpreter on one kind of device, as a cell."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from shrinkray_gpu.cells.cell import Cell, Row, gpu_needs
from shrinkray_gpu.corpus import environments
from shrinkray_gpu.corpus.case import Case
from shrinkray_gpu.corpus.expectation import CaseOutcome, Status
from shrinkray_gpu.corpus.replayer import IMPORTS, Replayer
from shrinkray_gpu.corpus.sighting import Sighting
from shrinkray_gpu.oracle import Answer

C = TypeVar("C", bound="_OfCase")


@dataclass(frozen=True)
class ReplayPlace:
    """An interpreter on a kind of device, as it is asked for."""

    python: str = ""
    """Its path there. Empty: the interpreter of the process that runs the cell."""
    arch: int | None = None
    environment: tuple[tuple[str, str], ...] = ()
    triton: str = ""
    """A release, installed aside where the interpreter has another one."""
    index: str = ""
    """From which alone it is installed."""
    accelerator: str = ""
    """The kind of GPU, by Ray's names: `H100`. Empty: any."""
    cwd: Path | None = None
    imports: tuple[str, ...] = IMPORTS
    """What its lanes begin with."""
    typed: str | None = None
    """The interpreter as the user names it, which may lie elsewhere on another machine. None: as `python` has it."""

    def installed(self, say: Callable[[str], None] = lambda text: None) -> ReplayPlace:
        """The same by its interpreter on this machine. Raises UsageError where the release is not to be had."""
        python = self.python or sys.executable
        if self.triton:
            python = environments.with_triton(self.triton, python=python, index=self.index, say=say)
        return replace(self, python=python, triton="", index="")

    def open(self, jobs: int) -> Replayer:
        """Raises UsageError where the interpreter runs nothing, or the release is not to be had."""
        here, environment = self.installed(), dict(self.environment)
        return Replayer(
            python=here.python, arch=self.arch, jobs=jobs, environment=environment, cwd=self.cwd, imports=self.imports
        )

    def __str__(self) -> str:
        python = self.python if self.typed is None else self.typed
        words = [f"--triton {self.triton}" * bool(self.triton), python, self.accelerator]
        return ", ".join(filter(None, words)) or "its interpreter"


@dataclass(frozen=True)
class _OfCase(Cell[Replayer]):
    """A question about a case in a place."""

    case: Case
    where: ReplayPlace

    @property
    def name(self) -> str:
        return f"{self.case.name}, {self.where}"

    @property
    def place(self) -> ReplayPlace:
        return self.where

    @property
    def alone(self) -> bool:
        return not (self.case.broken or self.case.is_ir) and self.case.question().needs.timing

    @property
    def needs(self) -> Mapping[str, float]:
        return gpu_needs(self.where.arch, self.where.accelerator)

    @property
    def wishes(self) -> Sequence[str]:
        whole = self.where.triton
        return (f"triton:{whole}", f"triton:{whole.rpartition('.')[0]}") if whole else ()

    @property
    def files(self) -> Sequence[Path]:
        return (self.case.folder,)

    def moved(self: C, places: Mapping[Path, Path]) -> C:
        return replace(self, case=replace(self.case, folder=places[self.case.folder]))

    def open(self, jobs: int) -> Replayer:
        return self.where.open(jobs)


@dataclass(frozen=True)
class CaseCell(_OfCase):
    """What a case does in a place."""

    runs: int | None = None
    """Instead of what the case asks for."""

    @property
    def asked(self) -> str:
        """All that is asked; the same on each machine that is given the same command."""
        where = self.where
        return repr((self.case.name, str(where), where.arch, where.environment, self.runs))

    def run(self, lanes: Replayer) -> Row:
        outcome = lanes.outcome(self.case, self.runs)
        doubtful = outcome.surprising or (outcome.status is Status.CANNOT and outcome.fault is not None)
        return lanes.checked(outcome.to_row(), lambda: self.run(lanes), doubtful=doubtful)

    def lost(self, why: str) -> Row:
        return CaseOutcome(Status.BROKEN, why, case=self.case, environment=str(self.where), versions={}).to_row()

    def not_run(self, why: str) -> CaseOutcome:
        """Its outcome where nobody came to run it."""
        return CaseOutcome(Status.CANNOT, f"not run: {why}", case=self.case, environment=str(self.where), versions={})


@dataclass(frozen=True)
class SightingCell(_OfCase):
    """What one run of a case shows in a place."""

    def run(self, lanes: Replayer) -> Row:
        sighting = lanes.sighting(self.case)
        doubtful = sighting.answer is Answer.UNKNOWN and not sighting.alike
        return lanes.checked(sighting.to_json(), lambda: self.run(lanes), doubtful=doubtful)

    def lost(self, why: str) -> Row:
        return Sighting(Answer.UNKNOWN, why).to_json()
