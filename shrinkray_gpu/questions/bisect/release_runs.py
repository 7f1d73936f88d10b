"""One run of the program with one release, and what it says of where the fault began."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

from shrinkray_gpu.cells.this_machine import ThisMachine
from shrinkray_gpu.corpus import environments
from shrinkray_gpu.corpus.case import Case
from shrinkray_gpu.corpus.case_cells import ReplayPlace, SightingCell
from shrinkray_gpu.corpus.replayer import IMPORTS
from shrinkray_gpu.corpus.sighting import Sighting
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle import Answer, Fault
from shrinkray_gpu.reduction.program import read_program

Say = Callable[[str], None]
PACKAGES = ("torch", "triton", "ptxas")
"""In the order in which they are installed: a torch may bring a Triton, which another one replaces."""
OPEN = 3
"""Releases whose lanes stay open: the search goes to and fro between few."""


@dataclass(frozen=True, kw_only=True)
class Bisected(Case):
    """A program as a case that no folder tells of."""

    file: Path

    @property
    def name(self) -> str:
        return self.file.stem

    @property
    def repro(self) -> Path:
        return self.file


@dataclass(frozen=True)
class ReleaseAnswer:
    """What a run of a release says. `final`: no other run of this release would say more. `missing`: there is no such
    release for this interpreter, so nothing was run."""

    answer: Answer
    why: str
    final: bool = False
    fault: Fault | None = None
    missing: bool = False


@dataclass(frozen=True)
class ReleasePlace:
    """Where releases are run. `package` is triton, torch or ptxas; ptxas runs below the Triton of `python`, and torch
    with the Triton that it pins, or else with that of `python`."""

    package: str
    python: str
    arch: int | None
    environment: Mapping[str, str]
    cwd: Path
    index: str = ""
    beside: tuple[str, str] | None = None
    """Another package and its release, which all runs have."""

    def interpreter(self, release: str, say: Say) -> tuple[str, Mapping[str, str]]:
        """The interpreter with this release, and its environment; installed where that was not done before. Raises
        NoSuchRelease, and UsageError where nothing can be installed."""
        python, environment = self.python, dict(self.environment)
        wanted = dict(filter(None, [(self.package, release), self.beside]))
        for package in (each for each in PACKAGES if each in wanted):
            if package == "ptxas":
                tool = environments.with_ptxas(wanted[package], python=self.python, say=say)
                # Triton has a ptxas of its own for sm_100 and above, with a variable of its own.
                environment |= dict.fromkeys(("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"), str(tool))
            else:
                installed = environments.with_torch if package == "torch" else environments.with_triton
                python = installed(wanted[package], python=python, index=self.index, say=say)
        return python, environment


class ReleaseRuns:
    """Runs of one program with any release. The lanes of the last few stay open until the end."""

    def __init__(self, program: Bisected, place: ReleasePlace, say: Say) -> None:
        self.program, self.place, self._say = program, place, say
        self._machine = ThisMachine(1, places=OPEN)
        text = read_program(program.repro).text
        self._imports = tuple(name for name in IMPORTS if re.search(rf"\b{name}\b", text))

    def __enter__(self) -> ReleaseRuns:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._machine.close()

    def bind(self, fault: Fault) -> None:
        """From now on only this fault counts."""
        self.program = replace(self.program, fault=fault)

    def run(self, release: str) -> ReleaseAnswer:
        """One run. A release that is not to be had, and a program that cannot run with it, is an answer, too. Raises
        UsageError where nothing can be installed: a full disk says nothing of the release."""
        try:
            python, environment = self.place.interpreter(release, self._say)
        except environments.NoSuchRelease as error:
            return ReleaseAnswer(Answer.UNKNOWN, str(error), final=True, missing=True)
        except UsageError as error:
            raise UsageError(
                f"{error}. That is no answer of {self.place.package} {release}: mend it and give the same command "
                "again, which goes on with every answer so far"
            ) from error
        here = ReplayPlace(
            python, self.place.arch, tuple(sorted(environment.items())), cwd=self.place.cwd, imports=self._imports
        )
        try:
            ((_, row),) = self._machine.run([SightingCell(self.program, here)])
        except UsageError as error:
            return ReleaseAnswer(Answer.UNKNOWN, str(error), final=True)
        return answer_of(Sighting.from_json(row), sure=self.place.arch is not None)


def answer_of(seen: Sighting, *, sure: bool) -> ReleaseAnswer:
    """Only a run that ends well speaks for a good release. One that shows another fault is neither good nor bad: it may
    have come before the fault that is looked for. `sure`: the compiled code decides, and a second run says the same."""
    if seen.answer is Answer.PASSES and seen.fault is not None:
        return ReleaseAnswer(Answer.UNKNOWN, f"another fault: {seen.fault}", final=sure)
    return ReleaseAnswer(seen.answer, seen.why, final=seen.alike, fault=seen.fault)
