"""The interestingness test: from a candidate to its verdict, by the cheapest tier that tells.

The runner says what happened, the oracle whether that is the fault; here they meet, and tries are counted. Where the
fault is flaky, each tier that really runs a candidate does so until `repetition` has its numbers.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, ParamSpec, Protocol, TypeVar

from shrinkray_gpu.judging.candidate import Candidate
from shrinkray_gpu.judging.cold_tier import ColdTier, ScriptTier
from shrinkray_gpu.judging.credit_tier import CreditTier, may_credit
from shrinkray_gpu.judging.dry_tier import DryTier
from shrinkray_gpu.judging.lane_tier import LaneTier
from shrinkray_gpu.judging.policy import Policy
from shrinkray_gpu.judging.run_tier import Repeater
from shrinkray_gpu.judging.tally import Tally
from shrinkray_gpu.judging.tightening import Tightening
from shrinkray_gpu.oracle import Oracle
from shrinkray_gpu.oracle.verdict import Verdict
from shrinkray_gpu.reduction.interestingness import TRACEBACK
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Run

_ENTRY = re.compile(r'^  File "(.+)", line (\d+)', re.MULTILINE)
P = ParamSpec("P")
T = TypeVar("T")


class Tier(Protocol):
    """One way to a verdict."""

    def settle(self, candidate: Candidate) -> Verdict:
        """Its own verdict, or that of the tier that follows it."""


class TieredTest:
    """Judges candidates in parallel.

    `pool` holds the lanes that decide. `dry`, where given, is a pool on the virtual GPU that goes before them. `tries`
    are those made before there was a test, by tier.
    """

    def __init__(
        self,
        oracle: Oracle,
        pool: Pool,
        *,
        dry: Pool | None = None,
        policy: Policy = Policy(),  # noqa: B008  it is frozen
        tries: Mapping[str, int] | None = None,
    ) -> None:
        self.oracle, self.pool = oracle, pool
        self.policy = replace(policy, credit=policy.credit and may_credit(oracle, policy))
        """Another one after each change of what a verdict rests on."""
        self.tally = tally = Tally(tries)
        self._repeater = repeater = Repeater(pool.jobs)
        self.lane = LaneTier(oracle, pool, repeater, tally)
        self.dry = DryTier(oracle, dry, CreditTier(self.lane, tally), tally) if dry is not None else None
        self.cold = ColdTier(oracle, pool, repeater, tally)
        self.script = ScriptTier(oracle, pool, repeater, tally)
        self._cheapest: Tier = self.dry or self.lane
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(pool.jobs + (dry.jobs if dry is not None else 0), thread_name_prefix="test")

    @property
    def lanes(self) -> int:
        """Candidates that may be judged at a time, by the cheapest tier."""
        return self.pool.jobs if self.dry is None else self.dry.pool.jobs

    @property
    def tries(self) -> Mapping[str, int]:
        """By the tier that settled them."""
        return self.tally.tries

    # What the engine asks

    def judge(self, programs: Sequence[Program]) -> list[Verdict]:
        """Verdicts in the order of the programs."""
        asked = [self.begin(self.candidate(program.text)) for program in programs]
        return [future.result() for future in asked]

    def foresee(self, likely: Iterable[Program]) -> None:
        """Nothing is done ahead: see `Ahead`."""

    def insist(self, on: bool) -> None:
        """In the last round, repeat in fresh contexts what a reused one denied."""
        self._change(insisting=on)

    def values(self, program: Program) -> Mapping[int, str]:
        """The values that a program with watched expressions computes: on the virtual GPU, where that shows the fault
        too, since it takes no context. What kernels would have written is made up there; the fault does without."""
        dry, policy = self.dry, self.policy
        predicts = dry is not None and policy.predicts and policy.repeats is None and not dry.given_up
        pool = dry.pool if dry is not None and predicts else self.pool
        run = pool.run(program.text, values=True, machine_code=policy.machine_code)
        lines = _traceback_lines(run, str(pool.script.path))
        return {**run.values, TRACEBACK: lines} if lines else run.values

    def capture(self, program: Program) -> Run:
        """Run the program once more, and write down the launch that faults. A flaky one until it does, if it will."""
        repeats = self.policy.repeats
        for _ in range(repeats.clean if repeats else 1):
            run = self.pool.run(program.text, fresh=True, capture="launch")
            if self.oracle.judge(run).faults:
                break
        return run

    # One candidate

    def candidate(self, text: str) -> Candidate:
        """The text as the user runs it, to be judged by the policy of now."""
        return Candidate(self.pool.script.request(text), self.policy)

    def settle(self, candidate: Candidate) -> Verdict:
        """The verdict of the cheapest tier that tells. A "yes" must pass the question to the text, too, if any."""
        if self.oracle.needs.run:
            verdict = self._cheapest.settle(candidate)
            if not verdict.faults or not self.oracle.needs.text:
                return verdict
        return self.script.settle(candidate)

    def begin(self, candidate: Candidate) -> Future[Verdict]:
        """Judge it in a thread of the test's own."""
        return self._threads.submit(self.settle, candidate)

    def beside(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Other work that takes the turn of a candidate."""
        return self._threads.submit(work, *args, **kwargs)

    # What makes it stricter

    def tighten(self, tightening: Tightening) -> None:
        """From now on a "yes" must pass this, too."""
        self._change(tightening=self.policy.tightening + tightening)

    def forget(self) -> None:
        """No verdict is taken on credit any more."""
        self._change(credit=False)

    def doubt_reused_contexts(self) -> None:
        """What was accepted was refuted. A context that passed another program before has other memory mapped beyond a
        tensor than a fresh one: from now on each "yes" of such a one is asked again in a fresh one, also where its
        launches were judged before."""
        self._change(doubts_reused=True)

    def doubt_brief(self) -> None:
        """What a lane took to hang after a brief wait came to an end: from now on all lanes wait."""
        self._change(brief=0.0, credit=False)

    def _change(self, **stricter: Any) -> None:
        with self._lock:
            self.policy = replace(self.policy, **stricter)

    def close(self) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._repeater.close()


def _traceback_lines(run: Run, path: str) -> str:
    """Of the script, in the uncaught exception itself: none of those that it came of."""
    told = run.failure.traceback if run.failure is not None else ""
    last = told.rpartition("Traceback (most recent call last)")[2]
    return " ".join(line for file, line in _ENTRY.findall(last) if file == path)
