"""The tier that decides every day: a run in a lane, or in a process of its own where no lane stands for that."""

from __future__ import annotations

import time
from dataclasses import replace

from shrinkray_gpu.judging.candidate import Candidate
from shrinkray_gpu.judging.pulse import Pulse
from shrinkray_gpu.judging.run_tier import Repeater, RunTier
from shrinkray_gpu.judging.tally import COLD, LANE, Tally
from shrinkray_gpu.oracle import Fault, Oracle
from shrinkray_gpu.oracle.verdict import Answer, Verdict, lacks
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.request import Request
from shrinkray_gpu.runner.run import Run

PLENTY = 1 << 30
"""Device memory, in bytes, from which on it matters how much the original takes."""


class LaneTier(RunTier):
    """`pool` holds the lanes."""

    def __init__(self, oracle: Oracle, pool: Pool, repeater: Repeater, tally: Tally) -> None:
        super().__init__(oracle, pool, repeater, tally)
        self._pulse = Pulse()

    def settle(self, candidate: Candidate) -> Verdict:
        """What the checks will ask of the candidate's machine code is begun beside the lane."""
        begin = candidate.policy.tightening.begin
        if begin is not None and candidate.dry_run is not None:
            begin(candidate.dry_run.run)
        return super().settle(candidate)

    def run(self, candidate: Candidate, fresh: bool) -> tuple[Verdict, Run]:
        policy, wants = candidate.policy, candidate.policy.tightening.wants
        brief = 0.0 if fresh else policy.brief

        def ran(request: Request, fresh: bool, least: float = 0.0) -> Run:
            started, pool = time.monotonic(), self.pool
            if least > pool.seconds:
                pool = pool.on(replace(pool.terms, seconds=least))
            run = pool.run(
                request,
                fresh=fresh,
                brief=brief,
                machine_code=policy.machine_code,
                wants=wants,
                settled=lambda run: self.oracle.judge(run).answer is Answer.PASSES,
            )
            self.tally.count(COLD if run.mode == "cold" else LANE, time.monotonic() - started)
            return run

        run = ran(candidate.request, fresh)
        steady = policy.repeats is None and not self.oracle.needs.timing
        self._pulse.note(candidate.request, run, lambda known, least: ran(known, True, least), steady=steady)
        verdict = self.oracle.judge(run)
        if verdict.faults and policy.doubts_reused and policy.repeats is None and not run.fresh:
            return self.run(candidate, True)
        # What shrinks the text may grow the tensors (int8 to the default type), and a repro that needs more device
        # memory than the original is of little use.
        if verdict.faults and PLENTY < policy.peak < run.peak / 2:
            return lacks(f"it holds {run.peak / 1e9:.1f} GB of device memory, far more than the original"), run
        if verdict.faults and brief and run.seconds < self.pool.seconds:
            why = f"the GPU is at work {brief:g} s after the last launch, and maybe for ever"
            return replace(verdict, why=why), run
        if verdict.answer is not Answer.PASSES:
            return verdict, run
        fault = Fault.of(run)
        if fault is not None and fault.phase == "python":
            self.tally.count_host_error()
        if policy.repeats is not None:
            return replace(verdict, certain=policy.repeats.is_certain(run)), run
        return replace(verdict, provisional=not run.fresh), run
