"""The tiers that take a process of their own: a cold run, which is the last word, and the oracle's own script."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from shrinkray_gpu.judging.candidate import Candidate
from shrinkray_gpu.judging.decider import Decider, Rule
from shrinkray_gpu.judging.repetition import FlakyTest
from shrinkray_gpu.judging.tally import COLD, SCRIPT, Tally
from shrinkray_gpu.oracle import Oracle
from shrinkray_gpu.oracle.verdict import Answer, Verdict
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Run


class ColdTier:
    """All that the oracle asks, in a process with nothing imported and no kernel compiled beforehand."""

    def __init__(self, oracle: Oracle, pool: Pool, decider: Decider, tally: Tally) -> None:
        self.oracle, self.pool, self.decider, self.tally = oracle, pool, decider, tally

    def settle(self, candidate: Candidate) -> Verdict:
        """Of a flaky fault: whether it shows at all in as many processes as a "no" must rest on, since each takes
        seconds, and the rate is for the lanes to see to."""
        return self._settled(candidate.text, FlakyTest.sighting)

    def confirm(self, text: str) -> Verdict:
        """The same; of a flaky fault, whether the rate is right."""
        return self._settled(text, FlakyTest.confirm)

    def _settled(self, text: str, rule: Rule) -> Verdict:
        return self.decider.settled(text, lambda: self._once(text), rule)

    def _once(self, text: str) -> tuple[Verdict, Run | None]:
        runs: list[Run] = []

        def run(text: str) -> Run:
            self.tally.count(COLD)
            runs.append(self.pool.cold(text, wants=self.decider.tightening.wants))
            return runs[-1]

        verdict = full_verdict(self.oracle, text, self.pool.script.path.name, run)
        repeats = self.decider.repeats
        if runs and repeats is not None and verdict.answer is Answer.PASSES:
            verdict = replace(verdict, certain=repeats.certain(runs[-1]))
        return verdict, runs[-1] if runs else None


class ScriptTier:
    """The oracle's own script, which is given the candidate as a file of this name."""

    def __init__(self, oracle: Oracle, name: str, decider: Decider, tally: Tally) -> None:
        self.oracle, self.name, self.decider, self.tally = oracle, name, decider, tally

    def settle(self, candidate: Candidate) -> Verdict:
        text = candidate.text
        return self.decider.everyday(text, lambda: self._once(text))

    def confirm(self, text: str) -> Verdict:
        """The same; of a flaky fault, whether the rate is right."""
        return self.decider.settled(text, lambda: self._once(text), FlakyTest.confirm)

    def _once(self, text: str) -> tuple[Verdict, None]:
        self.tally.count(SCRIPT)
        return self.oracle.judge_text(text, self.name), None


def full_verdict(oracle: Oracle, source: str, name: str, run: Callable[[str], Run]) -> Verdict:
    """All that the oracle asks of one program: of its run, of its text, or of both."""
    if oracle.needs.run:
        verdict = oracle.judge(run(source))
        if not verdict.faults or not oracle.needs.text:
            return verdict
    return oracle.judge_text(source, name)
