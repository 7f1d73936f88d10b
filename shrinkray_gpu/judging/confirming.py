"""The ways of looking again at an accepted program, beside the search, and which of them is used when.

confirm         a cold process has the last word. Of a flaky fault fresh lanes confirm the rate first; processes do so
                where there are no lanes, or where time between launches is what the fault is about.
                Used at checkpoints and at the end, unless each candidate is a cold process anyway.
probe           fresh contexts of a lane: quicker than a process.
                Used between checkpoints where dry runs predict the fault, where it is flaky on a GPU, and where lanes
                are brief.
steady          fresh contexts several times, then a cold process. Of a fault that always showed, a program that shows
                it now and then is not what was asked for: the final check would refuse it.
                Used in their place where lanes of a GPU decide, and the fault always shows.
find_sighting   cold processes until one shows the fault.
                Used in their place where a flaky fault is about time between launches.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

from shrinkray_gpu.judging.tiered_test import TieredTest
from shrinkray_gpu.oracle.verdict import Answer, Verdict
from shrinkray_gpu.reduction.program import Program

STEADY = 2
"""Fresh contexts in which a fault that always showed must show again, before a cold process is asked as well. One that
got rarer, to two runs of three, passes them all once in three times, and is asked several times on the way."""


class ConfirmingRuns:
    """Looks again by the tiers of a test, in its threads. `timed` says that the fault is a matter of time between
    launches: only cold processes confirm it then, since a lane, where all is compiled and warm, is none."""

    def __init__(self, test: TieredTest, *, timed: bool = False) -> None:
        self.test, self.timed = test, timed

    def confirm(self, program: Program) -> Future[Verdict]:
        return self.test.beside(self._heed, self._confirm, program.text)

    def probe(self, program: Program) -> Future[Verdict]:
        return self.test.beside(self._heed, self._probe, program.text)

    def steady(self, program: Program) -> Future[Verdict]:
        return self.test.beside(self._steady, program.text)

    def find_sighting(self, program: Program) -> Future[Verdict]:
        return self.test.beside(self.cold, program.text)

    def cold(self, text: str) -> Verdict:
        """The verdict of a cold process; of a flaky fault, of as many as a "no" must rest on."""
        return self.test.cold.settle(self.test.candidate(text))

    def _heed(self, look: Callable[[str], Verdict], text: str) -> Verdict:
        """Where lanes are brief, a "no" of a longer look ends that."""
        verdict = look(text)
        if self.test.policy.brief and verdict.answer is Answer.PASSES:
            self.test.doubt_brief()
        return verdict

    def _confirm(self, text: str) -> Verdict:
        test = self.test
        if test.policy.repeats is None:
            return self.cold(text)
        if test.pool.mode == "cold" or self.timed:
            return test.cold.confirm(test.candidate(text))
        verdict = self._probe(text)
        return self.cold(text) if verdict.faults else verdict

    def _probe(self, text: str) -> Verdict:
        test = self.test
        return (test.lane if test.oracle.needs.run else test.script).confirm(test.candidate(text))

    def _steady(self, text: str) -> Verdict:
        for _ in range(STEADY):
            verdict = self._probe(text)
            if not verdict.faults:
                return verdict
        return self.cold(text)
