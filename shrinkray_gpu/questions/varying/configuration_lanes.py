"""Lanes of one interpreter in which configured programs are run, each in a context that nothing ran in before."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shrinkray_gpu.device import gpus
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.evidence.versions import versions
from shrinkray_gpu.questions.varying.configured import ConfiguredProgram
from shrinkray_gpu.runner import cores
from shrinkray_gpu.runner.fence import NOT_ASKED
from shrinkray_gpu.runner.interpreter import check_python
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.private_setup import private_setup
from shrinkray_gpu.runner.run import Run

SECONDS = 120.0
"""That a run may take if nobody says."""
MOST = 8
"""Runs at a time if nobody says."""


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


class FreshLanes:
    """Thread-safe; `jobs` runs at a time. All files and kernels that they leave are gone at the end.

    `cold`: a process for each run, nothing imported and no kernel compiled. Raises UsageError where there is neither a
    GPU nor an architecture, and where the interpreter runs nothing.
    """

    def __init__(
        self,
        place: RunPlace,
        *,
        wants: Sequence[str] = (),
        cold: bool = False,
        asserts: bool = False,
        tell: bool = False,
    ) -> None:
        check_python(place.python)
        self.gpu = place.arch is None and gpus.present()
        if not self.gpu and place.arch is None and (place.environment or os.environ).get("TRITON_INTERPRET") != "1":
            raise UsageError("there is no GPU here: compile for one by --arch sm_90 (nothing is launched then)")
        self.place, self.seconds, self.cold = place, place.seconds or SECONDS, cold
        self.cwd = (place.cwd or Path.cwd()).absolute()
        self.wants, self.tell = tuple(wants), tell
        self.asserts = place.arch is None or asserts
        self.jobs = max(1, place.jobs or min(cores.usable(), MOST))
        self.environment = {**os.environ, **place.environment}
        self.versions = versions(place.python, self.environment, gpu=self.gpu)
        self._folder = tempfile.TemporaryDirectory(prefix="shrink-", ignore_cleanup_errors=True)
        self._pool: Pool | None = None

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()
        self._folder.cleanup()

    def start(self, programs: Sequence[ConfiguredProgram]) -> str:
        """Bring the first worker up, and look whether what the programs import leaves CUDA alone: a child that is
        forked after CUDA was started cannot use it. Before any `run`. Returns what the user should know, or nothing."""
        self._pool = self._opened(programs)
        if self.gpu and not self.cold:
            report = self._serving(programs[0]).start(programs[0].text)
            if report["touched"] or report["spoilt"]:
                self.cold = True
                return "an import starts CUDA, so each run is a process of its own, which takes seconds"
        return ""

    def run(self, program: ConfiguredProgram) -> Run:
        """Run it once. Only after `start`."""
        pool = self._serving(program)
        if self.cold:
            return pool.cold(program.text, way=program.knob_setting)
        return pool.run(program.text, fresh=True, way=program.knob_setting)

    def _serving(self, program: ConfiguredProgram) -> Pool:
        assert self._pool is not None, "start comes first"
        return self._pool.serving(self._script(program), seconds=self.seconds)

    def _script(self, program: ConfiguredProgram) -> Script:
        return Script(
            program.path, argv=program.argv, cwd=self.cwd, asserts=self.asserts, wants=self.wants, tell=self.tell
        )

    def _opened(self, programs: Sequence[ConfiguredProgram]) -> Pool:
        setup = private_setup(
            Path(self._folder.name),
            self.environment,
            python=self.place.python,
            imports=("torch", "triton"),
            own=tuple(dict.fromkeys([*(str(one.path.parent) for one in programs), str(self.cwd)])),
            arch=self.place.arch,
            warm=self.gpu,
            left_open=NOT_ASKED,
        )
        mode = "virtual" if self.place.arch else "fork"
        return Pool(self._script(programs[0]), setup, mode=mode, jobs=self.jobs, seconds=self.seconds)
