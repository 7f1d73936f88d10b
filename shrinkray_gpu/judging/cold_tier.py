"""The tiers that take a process of their own: a cold run, which is the last word, and the oracle's own script."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from signal import SIGKILL

from shrinkray_gpu.judging.candidate import Candidate
from shrinkray_gpu.judging.repetition import FlakyTest
from shrinkray_gpu.judging.run_tier import RunTier
from shrinkray_gpu.judging.tally import COLD, SCRIPT
from shrinkray_gpu.oracle import Oracle
from shrinkray_gpu.oracle.verdict import Answer, Verdict
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Run

PATIENT = 4.0
"""Times its limit that a cold run has, the second time, which was too slow or killed: load beside it does that."""


class ColdTier(RunTier):
    """All that the oracle asks, in a process with nothing imported and no kernel compiled beforehand.

    No fork of a zygote: all forks have its seed for the hashes of strings, and so have the lanes. A program that fails
    by the order of a set would fail in each of them, or in none.
    """

    def settle(self, candidate: Candidate) -> Verdict:
        """Of a flaky fault: whether it shows at all in as many processes as a "no" must rest on, since each takes
        seconds, and the rate is for the lanes to see to."""
        return self.verdict(candidate, True, FlakyTest.sighting)

    def run(self, candidate: Candidate, fresh: bool) -> tuple[Verdict, Run | None]:
        runs: list[Run] = []

        def run(text: str, pool: Pool = self.pool) -> Run:
            self.tally.count(COLD)
            runs.append(pool.cold(text, wants=candidate.policy.tightening.wants))
            return runs[-1]

        def patiently(text: str) -> Run:
            return run(text, self.pool.on(replace(self.pool.terms, seconds=PATIENT * self.pool.seconds)))

        verdict = full_verdict(self.oracle, candidate.text, self.pool.script.path.name, run)
        if not verdict.is_known and runs and _was_ended(runs[-1]) and not self.oracle.needs.timing:
            verdict = full_verdict(self.oracle, candidate.text, self.pool.script.path.name, patiently)
        flaky = candidate.policy.repeats
        if runs and flaky is not None and verdict.answer is Answer.PASSES:
            verdict = replace(verdict, certain=flaky.is_certain(runs[-1]))
        return verdict, runs[-1] if runs else None


def _was_ended(run: Run) -> bool:
    """Whether something else than the program ended it."""
    return run.timed_out or run.signal == SIGKILL


class ScriptTier(RunTier):
    """The oracle's own script, which is given the candidate as a file of the user's name for it."""

    def run(self, candidate: Candidate, fresh: bool) -> tuple[Verdict, None]:
        self.tally.count(SCRIPT)
        return self.oracle.judge_text(candidate.text, self.pool.script.path.name), None


def full_verdict(oracle: Oracle, source: str, name: str, run: Callable[[str], Run]) -> Verdict:
    """All that the oracle asks of one program: of its run, of its text, or of both."""
    if oracle.needs.run:
        verdict = oracle.judge(run(source))
        if not verdict.faults or not oracle.needs.text:
            return verdict
    return oracle.judge_text(source, name)
