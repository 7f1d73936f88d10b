"""The cheapest tier: a dry run on the virtual GPU, in milliseconds and on the CPU.

It sorts out the candidates that never get to a launch, and those that do not fault where it shows the fault itself.
"""

from __future__ import annotations

import threading
import time

from shrinkray_gpu.judging.candidate import Candidate
from shrinkray_gpu.judging.credit_tier import CreditTier
from shrinkray_gpu.judging.decider import Decider
from shrinkray_gpu.judging.policy import Policy
from shrinkray_gpu.judging.tally import DRY, Tally
from shrinkray_gpu.oracle import Oracle
from shrinkray_gpu.oracle.verdict import Answer, Verdict
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Run

WASTED = 3
"""Dry runs that waited until their time was over, where the lane then had an answer sooner: no more are made."""


class DryTier:
    """`pool` is on the virtual GPU. What goes on goes to `credit` first, and to the lane of that."""

    def __init__(
        self, oracle: Oracle, pool: Pool, credit: CreditTier, policy: Policy, decider: Decider, tally: Tally
    ) -> None:
        self.oracle, self.pool, self.credit = oracle, pool, credit
        self.decider, self.tally, self.machine_code = decider, tally, policy.machine_code
        self.predicts = policy.predicts and policy.repeats is None
        self._wasted = 0
        self._lock = threading.Lock()

    @property
    def given_up(self) -> bool:
        """Whether dry runs took too long, too often."""
        return self._wasted >= WASTED

    def settle(self, candidate: Candidate) -> Verdict | None:
        """A "no" where the dry run tells of it; otherwise the candidate takes along what it told."""
        if self.given_up:
            return None
        run = candidate.dry_run(self.run)
        if run.timed_out or run.trouble or (run.signal is not None and not self.predicts):
            self.tally.told_nothing(run.trouble or ("time limit" if run.timed_out else f"signal {run.signal}"))
            return self._after_waiting(candidate) if run.timed_out else None
        foreseen = self.oracle.judge(run)
        repeats = self.decider.repeats
        certain = repeats is None or repeats.certain(run)
        if run.failure is not None and not run.driver_error and not foreseen.faults and certain:
            self.tally.count(DRY)
            why = f"dry run: {run.failure.type}: {run.failure.text[:100]}"
            return Verdict(Answer.PASSES, why, other=foreseen.other, certain=repeats is not None)
        if self.predicts and foreseen.answer is Answer.PASSES:
            self.tally.count(DRY)
            return Verdict(Answer.PASSES, f"dry run: {foreseen.why}")
        candidate.foresee(run, foreseen)
        return None

    def run(self, text: str) -> Run:
        """Machine code is made where a lane will want it: without credit what shows the fault goes on to one."""
        code = self.machine_code or not self.credit.given
        return self.pool.run(text, machine_code=code, wants=self.decider.tightening.wants if code else ())

    def _after_waiting(self, candidate: Candidate) -> Verdict:
        """The verdict of a lane where the dry run told nothing in its time. Soon none is made any more, unless the
        candidates themselves hang."""
        began = time.monotonic()
        verdict = self.credit.lane.settle(candidate)
        with self._lock:
            self._wasted += time.monotonic() - began < self.pool.seconds
        return verdict
