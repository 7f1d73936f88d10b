"""From candidate to verdict, by the cheapest tier that tells: dry run, launches judged before, lane, cold process.

The runner says what happened, the oracle whether that is the fault; here they meet, and tries are counted.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from shrinkray_gpu.oracle import Oracle
from shrinkray_gpu.oracle.verdict import Answer, Verdict
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Run

DRY, CREDIT, LANE, COLD, SCRIPT = "dry run", "credit", "lane", "cold", "script"

UNKNOWN_CONTENT = "#?"
"""In a launch's argument: what it holds was written by a kernel, and no kernel ran."""


class Judge:
    """Judges candidates in parallel.

    `pool` holds the lanes that decide. `dry`, where given, is a pool on the virtual GPU that sorts out in milliseconds,
    on the CPU, the candidates that never get to a launch, and recognises launches that were judged before: those are
    accepted on credit, which the engine has confirmed by cold runs. `predicts` says that the dry run of the original
    shows the fault itself: then a candidate whose dry run does not is out, be it that the fault is gone or that it
    comes with undefined behaviour of the candidate's own (a null pointer, a descriptor past its tensor), and one whose
    dry run does is believed on credit too.
    """

    def __init__(
        self, oracle: Oracle, pool: Pool, *, dry: Pool | None = None, predicts: bool = False, credit: bool = True
    ) -> None:
        self.oracle, self.pool, self.dry, self.predicts, self.credit = oracle, pool, dry, predicts, credit
        self.tries: Counter[str] = Counter()
        """By the tier that settled them."""
        self.lane_seconds = 0.0
        self._fresh = False
        self._known: dict[str, Future[Verdict]] = {}
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(pool.jobs + (dry.jobs if dry else 0), thread_name_prefix="judge")

    def insist(self, on: bool) -> None:
        """In the last round, repeat in fresh contexts what a reused one denied."""
        self._fresh = on

    def __call__(self, programs: Sequence[Program]) -> list[Verdict]:
        """Verdicts in the order of the programs."""
        return list(self._threads.map(lambda program: self.judge(program.text), programs))

    def judge(self, source: str) -> Verdict:
        if self.oracle.needs_run:
            verdict = self._run(source)
            if not verdict.faults:
                return verdict
        if self.oracle.needs_text:
            self.tries[SCRIPT] += 1
            verdict = self.oracle.judge_text(source, self.pool.script.path.name)
        return verdict

    def _run(self, source: str) -> Verdict:
        if self.dry is None:
            return self._lane(source)
        run = self.dry.run(source)
        if run.trouble or run.timed_out:
            return self._lane(source)
        foreseen = self.oracle.judge(run)
        if run.failure is not None and not run.driver_error and not foreseen.faults:
            self.tries[DRY] += 1
            return Verdict(Answer.PASSES, f"dry run: {run.failure.type}: {run.failure.text[:100]}")
        if self.predicts and foreseen.answer is Answer.PASSES:
            self.tries[DRY] += 1
            return Verdict(Answer.PASSES, f"dry run: {foreseen.why}")
        if self.predicts and foreseen.faults and self.credit:
            self.tries[CREDIT] += 1
            return Verdict(Answer.FAULTS, f"on credit: {foreseen.why}")
        if not self.credit or any(UNKNOWN_CONTENT in arg for launch in run.launches for arg in launch.args):
            return self._lane(source)
        return self._once(_signature(run), source)

    def _once(self, signature: str, source: str) -> Verdict:
        """One lane run for all candidates that make the same launches."""
        mine: Future[Verdict] = Future()
        with self._lock:
            known = self._known.setdefault(signature, mine)
        if known is not mine:
            verdict = known.result()
            if verdict.known and not (self._fresh and verdict.provisional):
                self.tries[CREDIT] += 1
                return Verdict(verdict.answer, "on credit: its launches were judged before", verdict.provisional)
            return self._lane(source)
        try:
            verdict = self._lane(source)
        except BaseException as error:
            mine.set_exception(error)
            raise
        mine.set_result(verdict)
        if not verdict.known:
            with self._lock:
                self._known.pop(signature, None)
        return verdict

    def _lane(self, source: str, *, fresh: bool = False) -> Verdict:
        started = time.monotonic()
        run = self.pool.run(source, fresh=fresh or self._fresh)
        self.lane_seconds += time.monotonic() - started
        self.tries[COLD if run.mode == "cold" else LANE] += 1
        verdict = self.oracle.judge(run)
        provisional = verdict.answer is Answer.PASSES and not run.fresh
        return Verdict(verdict.answer, verdict.why, provisional)

    def values(self, program: Program) -> Mapping[int, str]:
        """The values that a program with watched expressions computes."""
        return self.pool.run(program.text, values=True).values

    def capture(self, program: Program) -> Run:
        """Run the program once more, and write down the launch that faults."""
        return self.pool.run(program.text, fresh=True, capture=True)

    def confirm(self, program: Program) -> Future[Verdict]:
        """Judge the program in a cold process, beside the search."""
        return self._threads.submit(self.cold, program.text)

    def probe(self, program: Program) -> Future[Verdict]:
        """Judge the program in a fresh context of a lane, beside the search: quicker than a cold process."""
        return self._threads.submit(self._lane, program.text, fresh=True)

    def cold(self, source: str) -> Verdict:
        return whole(self.oracle, source, self.pool.script.path.name, self._cold_run)

    def _cold_run(self, source: str) -> Run:
        self.tries[COLD] += 1
        return self.pool.cold(source)

    def close(self) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)


def whole(oracle: Oracle, source: str, name: str, run: Callable[[str], Run]) -> Verdict:
    """All that the oracle asks of one program: of its run, of its text, or of both."""
    if oracle.needs_run:
        verdict = oracle.judge(run(source))
        if not verdict.faults or not oracle.needs_text:
            return verdict
    return oracle.judge_text(source, name)


def _signature(run: Run) -> str:
    """The launches that a program asks for, free of names and addresses, and how its host code ended."""
    kernels = {compiled.hash: (compiled.ttir_key, sorted(compiled.options.items())) for compiled in run.compiles}
    launches = [(kernels.get(x.hash, x.hash), x.grid, x.args, x.synced, bool(x.fault)) for x in run.launches]
    failed = [(c.failure.type, c.failure.text) for c in run.compiles if c.failure]
    ended = (run.exit, run.signal, run.failure.type if run.failure else "", run.driver_error)
    return hashlib.sha256(repr((launches, failed, ended)).encode()).hexdigest()


