"""The tier that decides every day: a run in a lane, or in a process of its own where no lane stands for that."""

from __future__ import annotations

import time
from dataclasses import replace

from shrinkray_gpu.judging.candidate import Candidate
from shrinkray_gpu.judging.decider import Decider
from shrinkray_gpu.judging.policy import Policy
from shrinkray_gpu.judging.repetition import FlakyTest
from shrinkray_gpu.judging.tally import COLD, LANE, Tally
from shrinkray_gpu.oracle import Fault, Oracle
from shrinkray_gpu.oracle.verdict import Answer, Verdict, lacks
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Run

PLENTY = 1 << 30
"""Device memory, in bytes, from which on it matters how much the original takes."""


class LaneTier:
    """`pool` holds the lanes."""

    def __init__(self, oracle: Oracle, pool: Pool, policy: Policy, decider: Decider, tally: Tally) -> None:
        self.oracle, self.pool, self.decider, self.tally = oracle, pool, decider, tally
        self.machine_code = policy.machine_code
        self._brief = policy.brief
        self._doubts_used = False
        self._memory = 2 * policy.peak if policy.peak > PLENTY else 0
        """Device memory, in bytes, that no candidate may hold; 0: any may. What shrinks the text may grow the tensors
        (int8 to the default type), and a repro that needs more than the original is of little use."""

    @property
    def brief(self) -> float:
        """See `Policy`; 0 from when on all lanes wait."""
        return self._brief

    def wait_in_full(self) -> None:
        """What was taken to hang came to an end."""
        self._brief = 0.0

    def doubt_reused_contexts(self) -> None:
        """Ask each "yes" of a context that another program used before again in a fresh one."""
        self._doubts_used = self.decider.repeats is None

    def settle(self, candidate: Candidate) -> Verdict:
        """The verdict of a lane; what the checks will ask of the candidate's machine code is begun beside it."""
        begin = self.decider.tightening.begin
        if begin is not None and candidate.foreseen is not None:
            begin(candidate.foreseen.run)
        fresh, text = self.decider.insisting, candidate.text
        return self.decider.everyday(text, lambda: self._once(text, fresh))

    def confirm(self, text: str) -> Verdict:
        """The verdict of fresh contexts; of a flaky fault, whether the rate is right."""
        return self.decider.settled(text, lambda: self._once(text, True), FlakyTest.confirm)

    def _once(self, text: str, fresh: bool) -> tuple[Verdict, Run]:
        started, brief = time.monotonic(), 0.0 if fresh else self._brief
        wants = self.decider.tightening.wants
        run = self.pool.run(text, fresh=fresh, brief=brief, machine_code=self.machine_code, wants=wants)
        self.tally.count(COLD if run.mode == "cold" else LANE, time.monotonic() - started)
        verdict = self.oracle.judge(run)
        if verdict.faults and self._doubts_used and not run.fresh:
            return self._once(text, True)
        if verdict.faults and self._memory and run.peak > self._memory:
            return lacks(f"it holds {run.peak / 1e9:.1f} GB of device memory, far more than the original"), run
        if verdict.faults and brief and run.seconds < self.pool.seconds:
            why = f"the GPU is at work {brief:g} s after the last launch, and maybe for ever"
            return replace(verdict, why=why), run
        if verdict.answer is not Answer.PASSES:
            return verdict, run
        fault = Fault.of(run)
        if fault is not None and fault.phase == "python":
            self.tally.host_error()
        if self.decider.repeats is not None:
            return replace(verdict, certain=self.decider.repeats.certain(run)), run
        return replace(verdict, provisional=not run.fresh), run
