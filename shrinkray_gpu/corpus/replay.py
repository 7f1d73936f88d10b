"""Replay: every case of a corpus is run again, and judged by the Fault that it was kept for.

    from shrinkray_gpu import replay
    for outcome in replay("corpus", arch="sm_90"):
        print(outcome.case.name, outcome)

One worker runs all cases of an environment, each in a forked child (a fresh context on a GPU), several at a time; so
replaying costs little more than compiling. A case says for itself what it needs; what is missing is named.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from shrinkray_gpu.calibration.missed import no_kernel_ran
from shrinkray_gpu.corpus import case as corpus_case
from shrinkray_gpu.corpus.case import Case
from shrinkray_gpu.corpus.expectation import CaseConclusion, CaseOutcome, Status, expected_status
from shrinkray_gpu.corpus.machine import ReplayEnvironment, lacking
from shrinkray_gpu.corpus.sighting import Sighting, conclusion_of, sighting_of
from shrinkray_gpu.errors import ShrinkError, UsageError
from shrinkray_gpu.events import Hear, Replayed, one_at_a_time, saying
from shrinkray_gpu.options import arch_number
from shrinkray_gpu.oracle import Answer, Oracle
from shrinkray_gpu.reduction.program import read_program
from shrinkray_gpu.runner import cores
from shrinkray_gpu.runner.at_once import at_once
from shrinkray_gpu.runner.fence import NOT_ASKED
from shrinkray_gpu.runner.inside.launches.launch_log import INTERPRETED
from shrinkray_gpu.runner.interpreter import check_python
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.private_setup import private_setup
from shrinkray_gpu.runner.twins import with_hash_seed

SECONDS = 120.0
"""That a run may take when the case does not say."""
GPU_RUNS = 3
"""Runs of a case on a GPU at most, before its fault is called gone."""
FLAKY_RUNS = 10
"""Runs of a case that is expected to be flaky and does not say how many."""
MOST = 8
"""Cases at a time, if nobody says."""

Say = Callable[[str], None]


def replay(
    cases: Sequence[Case] | Path | str,
    *,
    python: str = sys.executable,
    arch: int | str | None = None,
    jobs: int | None = None,
    runs: int | None = None,
    environment: Mapping[str, str] | None = None,
    say: Say | None = None,
    done: Callable[[CaseOutcome], None] | None = None,
    on_event: Hear | None = None,
) -> list[CaseOutcome]:
    """Run the cases, or all of the corpus in this folder, with this interpreter; `arch` (90 or `sm_90`) on the virtual
    GPU. Outcomes in the order of the cases: whatever is wrong with a case is its own outcome.

    `runs`: of each case, instead of what it asks for. `on_event` is called with the events `message` and `replayed`,
    `say` with each line for the user, `done` with each outcome. Raises UsageError where the interpreter cannot run
    anything, or the folder has no cases.
    """
    hear, arch, done = one_at_a_time(on_event), arch_number(arch), done or (lambda outcome: None)
    say = saying(say, hear)
    if isinstance(cases, (str, Path)):
        cases = corpus_case.cases(Path(cases))
    # Cases that must have the machine to themselves (a hang, by the clock) come after all others.
    alone = [case for case in cases if not case.broken and case.question().needs.timing]
    beside = [case for case in cases if case not in alone]
    beside.sort(key=lambda case: not case.environment)  # those wait for a worker of their own: the others need not
    outcomes: dict[Path, CaseOutcome] = {}

    def one(case: Case) -> None:
        outcomes[case.folder] = outcome = replayer.outcome(case, runs)
        hear(Replayed(case.name, str(outcome), outcome.why, round(outcome.seconds, 1)))
        done(outcome)

    with closing(Replayer(python=python, arch=arch, jobs=jobs, environment=environment)) as replayer:
        say(f"replaying {len(cases)} case{'s' * (len(cases) != 1)} with {replayer.place.name} ...")
        at_once(replayer.jobs, one, beside)
        for case in alone:
            one(case)
    return [outcomes[case.folder] for case in cases]


class Replayer:
    """The lanes in which cases are run, and the folder of what they write; all of it is gone at the end.

    Thread-safe. Cases run in `cwd`; default: an empty folder. Caches are its own: what an earlier Triton compiled must
    not be found.
    """

    def __init__(
        self,
        *,
        python: str = sys.executable,
        arch: int | None = None,
        jobs: int | None = None,
        environment: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        check_python(python)
        self._cwd = cwd
        self.place = ReplayEnvironment.of(python, arch, environment or {})
        self.jobs = max(1, jobs or min(cores.usable(), MOST))
        self.environment = {**os.environ, **(environment or {})}
        self._folder = tempfile.TemporaryDirectory(prefix="shrink-replay-", ignore_cleanup_errors=True)
        self._pools: dict[tuple[tuple[str, str], ...], Pool] = {}
        self._lock = threading.Lock()

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
        oracle = case.question()
        if said := lacking(case, oracle, self.place):
            return CaseConclusion(Status.CANNOT, said)
        return conclusion_of(case, self._sightings(case, oracle, runs))

    def _sightings(self, case: Case, oracle: Oracle, asked: int | None) -> list[Sighting]:
        """So many runs as were asked for, by the user or the case; else until one shows the fault, a few at most."""
        fixed = asked or case.runs
        if not fixed and expected_status(case, self.place.versions.get("triton", "")) is Status.FLAKY:
            fixed = FLAKY_RUNS
        text = read_program(case.repro).text
        try:
            pool = self._lanes(case, oracle, text)
        except UsageError as error:
            return [Sighting(Answer.UNKNOWN, str(error))]
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
            imports=("torch", "triton"),
            own=(),
            arch=self.place.arch,
            warm=self.place.gpu,
            left_open=NOT_ASKED,
        )
        # Runs of one program are compared with each other by some oracles.
        setup = with_hash_seed(setup)
        mode, jobs = "virtual" if self.place.arch else "fork", 1 if settings else self.jobs
        scratch = Path(setup.scratch)
        return Pool(Script(scratch / "none.py", cwd=self._cwd or scratch), setup, mode=mode, jobs=jobs, seconds=SECONDS)
