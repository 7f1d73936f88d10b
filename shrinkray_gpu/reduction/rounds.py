"""Rounds over the passes, one after another, until nothing gets smaller and the checks beside the search agree."""

from __future__ import annotations

from collections.abc import Sequence

from shrinkray_gpu.reduction.cached_test import CachedTest
from shrinkray_gpu.reduction.grown_trials import GrownTrials
from shrinkray_gpu.reduction.limits import Ending, NotWorthIt
from shrinkray_gpu.reduction.outcome import PassLike
from shrinkray_gpu.reduction.pass_search import PassSearch
from shrinkray_gpu.reduction.state import State
from shrinkray_gpu.reduction.steps import Steps
from shrinkray_gpu.reduction.worth import Worth

WORTHWHILE = 0.95
"""Another round of an early stage only where the last one left no more than this of the tokens."""


class Rounds:
    """`searching` and `trials` do the work of a pass; here is when which pass has its turn."""

    def __init__(
        self,
        passes: Sequence[PassLike],
        state: State,
        steps: Steps,
        test: CachedTest,
        ending: Ending,
        worth: Worth,
        searching: PassSearch,
        trials: GrownTrials,
    ) -> None:
        self.passes, self.state, self.checks, self.test = passes, state, steps.checks, test
        self.ending, self.worth, self.searching, self.trials = ending, worth, searching, trials

    def to_the_end(self) -> str:
        """To the fixpoint; where the course is a fast one, until nothing is worth its time and the checks agree. Why it
        stopped early, if it did."""
        counts = self.state.counts
        while True:
            try:
                self._to_the_fixpoint()
                return ""
            except NotWorthIt as why:
                undone = counts.undone
                self.checks.before_leaving(counts.considered)
                self.be_thorough(False)
                if counts.undone == undone:
                    return str(why)

    def _to_the_fixpoint(self) -> None:
        """Rounds over the passes of the first stage, then over those of the second too, at last over all of them. A new
        round only for fewer tokens: half of a trial's time went into running everything again after a mere literal had
        changed.

        Fine passes have hundreds of edits that take a token each. On a program that is still large they cost as many
        tries, each of them dear, and most of what they polish goes later anyway."""
        state, counts = self.state, self.state.counts
        for stage in sorted({each.stage for each in self.passes})[:-1]:
            passes = [each for each in self.passes if each.stage <= stage]
            tokens, slips = -1, 0  # none yet; of an empty program there are 0
            while tokens < 0 or state.current.size.tokens < WORTHWHILE * tokens or slips < self._slips():
                tokens, slips = state.current.size.tokens, self._slips()
                self._round(passes)
        while True:
            progressed = self._round(self.passes)
            if progressed or (state.put_off and not state.thorough):
                self.be_thorough(not progressed)
                if state.thorough:
                    self.checks.before_the_end(counts.considered)
                continue
            if self.checks.stand(counts.considered):
                return
            self.be_thorough(False)

    def be_thorough(self, on: bool) -> None:
        """The last round has come, in which nothing is put off; or it has not, after all."""
        if on != self.state.thorough:
            self.state.thorough = on
            self.test.insist(on)

    def _slips(self) -> int:
        """How often the course went back because a step showed another fault."""
        return self.state.counts.undone - self.checks.confirmations.rollbacks

    def _round(self, passes: Sequence[PassLike]) -> bool:
        """Whether the passes made the program smaller, or a check beside them made it larger again."""
        state, counts = self.state, self.state.counts
        state.round += 1
        state.tell("round")
        before, undone = state.current, counts.undone
        state.put_off = False
        for at, each in enumerate(passes, start=1):
            waiting = (*passes[at:], *passes[: at - 1])
            with counts.billed(each.name, state, self.ending.clock), self.worth.turn(each, waiting):
                self._run(each, coming=passes[at:])
            self.checks.at_point(counts.considered)
        return state.current.size.tokens < before.size.tokens or counts.undone > undone

    def _run(self, each: PassLike, coming: Sequence[PassLike]) -> None:
        """One pass: find its edits once, search them, and put the grown ones on trial. What changed no more than
        literals or names is repeated at once, since no new round comes for it."""
        state, counts = self.state, self.state.counts
        state.pass_name = each.name
        while True:
            before, undone = state.current, counts.undone
            barren = self.searching.barren(each, before)
            if barren is not None and (barren or not state.thorough):
                state.put_off |= not barren
                return
            state.tell("pass")
            put_off, state.put_off = state.put_off, False
            self.searching.search(each, coming)
            if counts.undone > undone:  # in the middle of it: the next round has it again
                state.put_off |= put_off
                return
            if each.grows:
                self.trials.run(each)
            whole = state.thorough or not state.put_off
            state.put_off |= put_off
            if state.current is before:
                self.searching.note_barren(each, before, whole=whole)
                return
            if state.current.size.tokens < before.size.tokens:
                return
