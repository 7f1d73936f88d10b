"""The lanes in which the cases of a corpus are run with one interpreter, each case in a fresh context."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from shrinkray_gpu.calibration.missed import no_kernel_ran
from shrinkray_gpu.cells.cell import NEWS, Row
from shrinkray_gpu.cells.sick_gpu import checked
from shrinkray_gpu.corpus.case import Case, fault_told
from shrinkray_gpu.corpus.expectation import CaseConclusion, CaseOutcome, Status, expected_status
from shrinkray_gpu.corpus.machine import ReplayEnvironment, lacking, lacking_for_ir
from shrinkray_gpu.corpus.sighting import Sighting, conclusion_of, sighting_of
from shrinkray_gpu.errors import ShrinkError, UsageError
from shrinkray_gpu.intermediate.ir_replay import replay_ir
from shrinkray_gpu.intermediate.options import IrOptions
from shrinkray_gpu.oracle import Answer, Oracle
from shrinkray_gpu.oracle.words import compiler_pattern
from shrinkray_gpu.reduction.program import read_program
from shrinkray_gpu.runner.fence import NOT_ASKED
from shrinkray_gpu.runner.gpu_groups import GpuGroups, usable
from shrinkray_gpu.runner.inside.launches.launch_log import INTERPRETED
from shrinkray_gpu.runner.interpreter import check_python
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.private_setup import private_setup
from shrinkray_gpu.runner.twins import with_hash_seed

SECONDS = 120.0
"""That a run may take when the case does not say."""
GPU_RUNS = 3
"""Runs of a case on a GPU at most, before its fault is called gone."""
IMPORTS = ("torch", "triton")
"""What lanes begin with, since nearly every case imports it."""
FLAKY_RUNS = 10
"""Runs of a case that is expected to be flaky and does not say how many."""


class Replayer:
    """The lanes in which cases are run, and the folder of what they write; all of it is gone at the end.

    Thread-safe. Cases run in `cwd`; default: an empty folder. `imports`: what lanes begin with. Caches are its own:
    what an earlier Triton compiled must not be found.
    """

    def __init__(
        self,
        *,
        python: str = sys.executable,
        arch: int | None = None,
        jobs: int = 1,
        environment: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        imports: Sequence[str] = IMPORTS,
    ) -> None:
        check_python(python)
        self._cwd, self._imports = cwd, tuple(imports)
        self.place = ReplayEnvironment.of(python, arch, environment or {})
        self.jobs = jobs
        self.environment = {**os.environ, **(environment or {})}
        self._news: list[str] = []
        names, _ = usable(self.environment, jobs, self._news.append) if self.place.gpu else ((), False)
        self._groups = GpuGroups(names, self._news.append)
        self._folder = tempfile.TemporaryDirectory(prefix="shrink-replay-", ignore_cleanup_errors=True)
        self._pools: dict[tuple[tuple[str, str], ...], Pool] = {}
        self._lock = threading.Lock()

    def headline(self, count: int) -> str:
        on = f" on {len(self._groups)} GPUs" * (len(self._groups) > 1)
        return f"replaying {count} case{'s' * (count != 1)} with {self.place.name}{on} ..."

    def checked(self, row: Row, again: Callable[[], Row], *, doubtful: bool) -> Row:
        """The row, or one made again where a GPU proved sick; with lines for the user, if there are any."""
        row = checked(row, self._groups, again) if doubtful and self.place.gpu else row
        with self._lock:
            news, self._news[:] = [*self._news], []
        return {**row, NEWS: [*row.get(NEWS, ()), *news]} if news else row

    def close(self) -> None:
        with self._lock:
            pools = list(self._pools.values())
        for pool in pools:
            pool.close()
        self._folder.cleanup()

    def outcome(self, case: Case, runs: int | None = None) -> CaseOutcome:
        """Run one case as often as it takes to tell."""
        started = time.monotonic()
        try:
            found = self._conclusion(case, runs)
        except Exception as error:  # whatever it is, the other cases have nothing to do with it
            why = str(error) if isinstance(error, ShrinkError) else f"{type(error).__name__}: {error}"
            found = CaseConclusion(Status.BROKEN, why)
        name, versions, seconds = self.place.name, self.place.versions, time.monotonic() - started
        return CaseOutcome(**vars(found), case=case, environment=name, versions=versions, seconds=seconds)

    def sighting(self, case: Case) -> Sighting:
        """What one run of a case shows. Of what it lacks here, or what this release lacks, another would say the same.

        Raises UsageError for a case whose oracle cannot be read."""
        oracle = case.question()
        if said := lacking(case, oracle, self.place):
            return Sighting(Answer.UNKNOWN, said, alike=True)
        (seen,) = self._sightings(case, oracle, 1)
        conclusion = conclusion_of(case, [seen])
        if conclusion.status is Status.CANNOT and seen.answer is Answer.PASSES:
            return Sighting(Answer.UNKNOWN, conclusion.why, seen.fault, alike=True)
        return seen

    def _conclusion(self, case: Case, runs: int | None) -> CaseConclusion:
        if case.broken:
            return CaseConclusion(Status.BROKEN, case.broken)
        if case.is_ir:
            return self._of_ir(case)
        oracle = case.question()
        if said := lacking(case, oracle, self.place):
            return CaseConclusion(Status.CANNOT, said)
        return conclusion_of(case, self._sightings(case, oracle, runs))

    def _of_ir(self, case: Case) -> CaseConclusion:
        """What its passes do, in a process of its own."""
        if said := lacking_for_ir(case, self.place):
            return CaseConclusion(Status.CANNOT, said)
        words = tuple(map(compiler_pattern, case.oracle))
        environment = {**self.environment, **case.environment}
        try:
            seen = replay_ir(case.repro, IrOptions(python=self.place.python, environment=environment, words=words))
        except UsageError as error:  # this interpreter has no Triton that can be asked
            return CaseConclusion(Status.CANNOT, str(error))
        fault = fault_told(str(seen.fault)) if seen.fault else None
        return CaseConclusion(Status(seen.outcome), seen.why, fault, int(seen.outcome == Status.FAULTS.value), 1)

    def _sightings(self, case: Case, oracle: Oracle, asked: int | None) -> list[Sighting]:
        """So many runs as were asked for, by the user or the case; else until one shows the fault, a few at most."""
        fixed = asked or case.runs
        if not fixed and expected_status(case, self.place.versions.get("triton", "")) is Status.FLAKY:
            fixed = FLAKY_RUNS
        text = read_program(case.repro).text
        try:
            return self._runs(case, oracle, text, fixed)
        except UsageError as error:  # nothing starts with this Triton, as of an architecture that it does not know
            return [Sighting(Answer.UNKNOWN, str(error))]

    def _runs(self, case: Case, oracle: Oracle, text: str, fixed: int) -> list[Sighting]:
        """So many; 0: as many as it takes. Raises UsageError where no worker starts."""
        pool = self._lanes(case, oracle, text)
        seen: list[Sighting] = []
        for _ in range(fixed or (GPU_RUNS if self.place.gpu else 1)):
            run = pool.cold(text) if case.cold else pool.run(text, fresh=True)
            sighting = sighting_of(case, oracle, run)
            if sighting.answer is not Answer.FAULTS and no_kernel_ran(run) and not oracle.judge(run).is_known:
                sighting = sighting_of(case, oracle, pool.cold(text, wants=(INTERPRETED,)))
            seen.append(sighting)
            last = seen[-1]
            if last.alike or (not fixed and len(seen) == 1 and last.answer is Answer.FAULTS):
                break  # it cannot run here, or shows at once, as it always did
        return seen

    def _lanes(self, case: Case, oracle: Oracle, text: str) -> Pool:
        """The lanes of the case's environment, for the case as its script."""
        key = tuple(sorted(case.environment.items()))
        with self._lock:
            if key not in self._pools:
                self._pools[key] = self._pool(key)
            base = self._pools[key]
        script = replace(base.script, path=case.repro.absolute(), argv=case.argv)
        script = oracle.needs.on(script, virtual=self.place.arch is not None)
        pool = base.serving(script, seconds=oracle.needs.seconds or case.timeout or SECONDS)
        if self.place.gpu and not (case.cold or oracle.needs.sanitizer):
            report = pool.start(text)
            if report["touched"] or report["spoilt"]:
                # An import at the top of a script started CUDA: its children cannot use the GPU.
                return pool.on(replace(pool.terms, mode="cold"))
        return pool

    def _pool(self, settings: tuple[tuple[str, str], ...]) -> Pool:
        setup = private_setup(
            Path(self._folder.name, str(len(self._pools))),
            {**self.environment, **dict(settings)},
            python=self.place.python,
            imports=self._imports,
            own=(),
            arch=self.place.arch,
            warm=self.place.gpu,
            left_open=NOT_ASKED,
        )
        # Runs of one program are compared with each other by some oracles.
        setup = with_hash_seed(setup)
        mode, jobs = "virtual" if self.place.arch else "fork", 1 if settings else self.jobs
        scratch = Path(setup.scratch)
        script = Script(scratch / "none.py", cwd=self._cwd or scratch)
        return Pool(script, setup, mode=mode, jobs=jobs, seconds=SECONDS, groups=self._groups)
