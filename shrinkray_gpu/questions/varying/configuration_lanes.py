"""Lanes of one interpreter in which configured programs are run, each in a context that nothing ran in before."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from shrinkray_gpu.device import gpus
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.evidence.versions import versions
from shrinkray_gpu.questions.varying.configured import ConfiguredProgram
from shrinkray_gpu.runner import cores
from shrinkray_gpu.runner.interpreter import check_python
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Run

SECONDS = 120.0
"""That a run may take if nobody says."""
MOST = 8
"""Runs at a time if nobody says."""


class FreshLanes:
    """Thread-safe; `jobs` runs at a time. All files and kernels that they leave are gone at the end.

    `arch`: 90 is sm_90 on the virtual GPU. `cold`: a process for each run, nothing imported and no kernel compiled.
    Raises UsageError where there is neither a GPU nor an `arch`, and where the interpreter runs nothing.
    """

    def __init__(
        self,
        *,
        python: str,
        arch: int | None = None,
        jobs: int | None = None,
        environment: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        seconds: float | None = None,
        wants: Sequence[str] = (),
        cold: bool = False,
        asserts: bool = False,
        tell: bool = False,
    ) -> None:
        check_python(python)
        self.gpu = arch is None and gpus.present()
        if not self.gpu and arch is None and (environment or os.environ).get("TRITON_INTERPRET") != "1":
            raise UsageError("there is no GPU here: compile for one by --arch sm_90 (nothing is launched then)")
        self.python, self.arch, self.seconds, self.cold = python, arch, seconds or SECONDS, cold
        self.cwd = (cwd or Path.cwd()).absolute()
        self.wants, self.tell = tuple(wants), tell
        self.asserts = arch is None or asserts
        self.jobs = max(1, jobs or min(cores.usable(), MOST))
        self.environment = {**os.environ, **(environment or {})}
        self.versions = versions(python, self.environment, gpu=self.gpu)
        self._folder = tempfile.TemporaryDirectory(prefix="shrink-", ignore_cleanup_errors=True)
        self._pool: Pool | None = None

    def __enter__(self) -> FreshLanes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
        scratch, caches = Path(self._folder.name, "scratch"), Path(self._folder.name, "cache")
        for each in (scratch, caches):
            each.mkdir()
        setup = Setup(
            python=self.python,
            environment={
                **self.environment,
                "TRITON_CACHE_DIR": str(caches / "triton"),
                "TORCHINDUCTOR_CACHE_DIR": str(caches / "inductor"),
                "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
            },
            imports=("torch", "triton"),
            own=tuple(dict.fromkeys([*(str(one.path.parent) for one in programs), str(self.cwd)])),
            scratch=str(scratch),
            writable=(str(caches),),
            arch=self.arch,
            warm=self.gpu,
        )
        mode = "virtual" if self.arch else "fork"
        return Pool(self._script(programs[0]), setup, mode=mode, jobs=self.jobs, seconds=self.seconds)
