"""Configured programs as cells, and the lanes in which they are run, each in a context that nothing ran in before."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shrinkray_gpu.cells.cell import Cell, Row, gpu_needs
from shrinkray_gpu.device import architectures, gpus
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.evidence.versions import versions
from shrinkray_gpu.questions.varying.configured import ConfiguredProgram
from shrinkray_gpu.runner.fence import NOT_ASKED
from shrinkray_gpu.runner.interpreter import check_python
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.private_setup import private_setup
from shrinkray_gpu.runner.run import Run

SECONDS = 120.0
"""That a run may take if nobody says."""


@dataclass(frozen=True)
class RunPlace:
    """Where and how the user has programs run."""

    python: str
    arch: int | None = None
    """90 is sm_90 on the virtual GPU; None: the real one."""
    jobs: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    """What goes on top of this process's."""
    cwd: Path | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class RunTerms:
    """What all runs of a question share. `cold`: a process for each run, nothing imported and no kernel compiled."""

    where: RunPlace
    headline: str
    """What is told before the first run, with `{gpu}` or `{triton}`."""
    wants: tuple[str, ...] = ()
    cold: bool = False
    asserts: bool = False
    tell: bool = False
    own: tuple[str, ...] = ()
    """Folders of the programs."""


@dataclass(frozen=True)
class ConfigurationCell(Cell["FreshLanes"]):
    """One run of a configured program."""

    program: ConfiguredProgram
    terms: RunTerms

    @property
    def name(self) -> str:
        return self.program.path.name

    @property
    def place(self) -> Hashable:
        return repr(self.terms)

    @property
    def needs(self) -> Mapping[str, float]:
        return gpu_needs(self.terms.where.arch, "")

    def open(self, jobs: int) -> FreshLanes:
        return FreshLanes(self.program, self.terms, jobs)

    def run(self, lanes: FreshLanes) -> Row:
        return {"run": lanes.run(self.program).to_json(), "versions": dict(lanes.versions), "on": lanes.on}

    def lost(self, why: str) -> Row:
        return {"run": Run(mode="cold", exit=None, trouble=why).to_json(), "versions": {}, "on": ""}


class FreshLanes:
    """Thread-safe; `jobs` runs at a time. All files and kernels that they leave are gone at the end.

    The first worker is brought up for `first`, and what that imports must leave CUDA alone: a child that is forked
    after CUDA was started cannot use it. Raises UsageError where there is neither a GPU nor an architecture, and where
    the interpreter runs nothing.
    """

    def __init__(self, first: ConfiguredProgram, terms: RunTerms, jobs: int) -> None:
        place = terms.where
        check_python(place.python)
        self.gpu = place.arch is None and gpus.present()
        if not self.gpu and place.arch is None and (place.environment or os.environ).get("TRITON_INTERPRET") != "1":
            raise UsageError("there is no GPU here: compile for one by --arch sm_90 (nothing is launched then)")
        self.terms, self.jobs, self.cold = terms, jobs, terms.cold
        self.cwd = (place.cwd or Path.cwd()).absolute()
        self.asserts = place.arch is None or terms.asserts
        self.environment = {**os.environ, **place.environment}
        self.versions = versions(place.python, self.environment, gpu=self.gpu)
        self._folder = tempfile.TemporaryDirectory(prefix="shrink-", ignore_cleanup_errors=True)
        self._pool = self._opened(first)
        self._untold = [terms.headline.format(gpu=self.on, triton=self.versions.get("triton", "missing"))]
        if self.gpu and not self.cold:
            report = self._serving(first).start(first.text)
            if report["touched"] or report["spoilt"]:
                self.cold = True
                why = "an import starts CUDA, so each run is a process of its own, which takes seconds"
                self._untold.insert(0, why)

    @property
    def on(self) -> str:
        """The GPU, or the architecture that is compiled for."""
        if self.gpu:
            return self.versions.get("gpu", "the GPU")
        arch = self.terms.where.arch
        return "no GPU" if arch is None else f"{architectures.name(arch)}, nothing launched"

    def headline(self, count: int) -> str:
        told, self._untold = "; ".join(self._untold), []
        return told

    def close(self) -> None:
        self._pool.close()
        self._folder.cleanup()

    def run(self, program: ConfiguredProgram) -> Run:
        """Run it once."""
        pool = self._serving(program)
        if self.cold:
            return pool.cold(program.text, way=program.knob_setting)
        return pool.run(program.text, fresh=True, way=program.knob_setting)

    def _serving(self, program: ConfiguredProgram) -> Pool:
        return self._pool.serving(self._script(program), seconds=self.terms.where.seconds or SECONDS)

    def _script(self, program: ConfiguredProgram) -> Script:
        terms = self.terms
        return Script(
            program.path, argv=program.argv, cwd=self.cwd, asserts=self.asserts, wants=terms.wants, tell=terms.tell
        )

    def _opened(self, first: ConfiguredProgram) -> Pool:
        place = self.terms.where
        setup = private_setup(
            Path(self._folder.name),
            self.environment,
            python=place.python,
            imports=("torch", "triton"),
            own=tuple(dict.fromkeys([*self.terms.own, str(self.cwd)])),
            arch=place.arch,
            warm=self.gpu,
            left_open=NOT_ASKED,
        )
        mode = "virtual" if place.arch else "fork"
        return Pool(self._script(first), setup, mode=mode, jobs=self.jobs, seconds=place.seconds or SECONDS)


def own_folders(programs: Sequence[ConfiguredProgram]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(one.path.parent) for one in programs))
