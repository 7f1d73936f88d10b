"""The cheapest tier: a dry run on the virtual GPU, in milliseconds and on the CPU.

It sorts out the candidates that never get to a launch, those that do not fault where it shows the fault itself, and
where results are compared those that leave their tensors, as the original does not.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace

from shrinkray_gpu.judging.candidate import Candidate, DryRun
from shrinkray_gpu.judging.credit_tier import CreditTier
from shrinkray_gpu.judging.tally import DRY, Tally
from shrinkray_gpu.oracle import Oracle
from shrinkray_gpu.oracle.verdict import Answer, Verdict
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Run

WASTED = 3
"""Dry runs that waited until their time was over, where the lane then had an answer sooner: no more are made."""


class DryTier:
    """`pool` is on the virtual GPU."""

    def __init__(self, oracle: Oracle, pool: Pool, following: CreditTier, tally: Tally) -> None:
        self.oracle, self.pool, self.following, self.tally = oracle, pool, following, tally
        self._wasted = 0
        self._lock = threading.Lock()

    @property
    def given_up(self) -> bool:
        """Whether dry runs took too long, too often."""
        return self._wasted >= WASTED

    def settle(self, candidate: Candidate) -> Verdict:
        """A "no" where the dry run tells of it; otherwise the candidate takes along what it told."""
        if self.given_up:
            return self.following.settle(candidate)
        repeats = candidate.policy.repeats
        excludes = candidate.policy.excludes
        run = candidate.begun.result() if candidate.begun is not None else self.run(candidate)
        if run.timed_out or run.trouble or (run.signal is not None and not excludes):
            self.tally.count_mute(run.trouble or ("time limit" if run.timed_out else f"signal {run.signal}"))
            return self._after_waiting(candidate) if run.timed_out else self.following.settle(candidate)
        verdict = self.oracle.judge(run)
        certain = repeats is None or repeats.is_certain(run)
        if run.failure is not None and not run.driver_error and not verdict.faults and certain:
            self.tally.count(DRY)
            why = f"dry run: {run.failure.type}: {run.failure.text[:100]}"
            return Verdict(Answer.PASSES, why, other=verdict.other, certain=repeats is not None)
        broken = next((launch.fault for launch in run.launches if launch.fault), "")
        if broken and self.oracle.needs.compared and not verdict.faults:
            self.tally.count(DRY)
            return Verdict(Answer.PASSES, f"dry run: a second defect: {broken}")
        if excludes and not verdict.faults:
            self.tally.count(DRY)
            return Verdict(Answer.PASSES, f"dry run: {verdict.why}")
        return self.following.settle(replace(candidate, dry_run=DryRun(run, verdict)))

    def run(self, candidate: Candidate) -> Run:
        """Machine code is made where a lane will want it: without credit what shows the fault goes on to one."""
        policy = candidate.policy
        code = policy.machine_code or not policy.credit
        wants = policy.tightening.wants if code else ()
        return self.pool.run(candidate.request, machine_code=code, wants=wants)

    def _after_waiting(self, candidate: Candidate) -> Verdict:
        """The verdict of a lane where the dry run told nothing in its time. Soon none is made any more, unless the
        candidates themselves hang."""
        began = time.monotonic()
        verdict = self.following.settle(candidate)
        with self._lock:
            self._wasted += time.monotonic() - began < self.pool.seconds
        return verdict
