"""Edits that grow the program first (an inlined function, an unrolled loop): grown, reduced, and kept only if smaller
in the end."""

from __future__ import annotations

from collections.abc import Sequence

from shrinkray_gpu.reduction.answers import Answers
from shrinkray_gpu.reduction.edit_finder import Finding
from shrinkray_gpu.reduction.limits import Enough
from shrinkray_gpu.reduction.outcome import PassLike
from shrinkray_gpu.reduction.pass_search import PassSearch
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import render
from shrinkray_gpu.reduction.state import State
from shrinkray_gpu.reduction.steps import Steps

TRIES = 60
"""Candidates that a grown program may cost before it must be smaller than it was."""


class Trials:
    """`passes`: those of the reduction, of which the ones that neither grow nor need values reduce what has grown."""

    def __init__(
        self,
        state: State,
        steps: Steps,
        answers: Answers,
        finding: Finding,
        searching: PassSearch,
        passes: Sequence[PassLike],
    ) -> None:
        self.state, self.steps, self.answers, self.finding = state, steps, answers, finding
        self.searching = searching
        self.passes = [each for each in passes if not each.grows and not each.needs_values]

    def run(self, each: PassLike) -> None:
        """Tried one by one; after each success the edits are found anew."""
        state, failed, width = self.state, self.searching.failed, self.searching.width
        while True:
            before = state.current
            edits = self.finding.edits(each)
            fresh, marks = self.searching.fresh(before, f"{each.name} (trial)", edits)
            if len(fresh) < len(edits):
                state.put_off = True
            grown = [render(before, [edit]) for edit in fresh]
            for at in range(0, len(fresh), width):
                answers = self.answers.ask(grown[at : at + width], smaller=False)
                for edit, candidate, faults in zip(fresh[at:], grown[at:], answers):
                    if faults and self._trial(each, candidate):
                        break
                    if faults is not None:
                        failed.add(marks[edit])
                if state.current is not before:
                    break
            else:
                return

    def _trial(self, each: PassLike, grown: Program) -> bool:
        """Whether a few cheap tries, for fewer tokens only, make the grown program smaller than the best."""
        state = self.state
        before, thorough, put_off = state.current, state.thorough, state.put_off
        state.thorough, state.budget = False, state.considered + TRIES
        try:
            self.steps.accept(grown)
            tokens = grown.size.tokens + 1
            while state.best is not state.current and state.current.size.tokens < tokens:
                tokens = state.current.size.tokens
                for other in self.passes:
                    if state.best is not state.current:
                        state.pass_name = f"{each.name}: {other.name}"
                        self.searching.search(other)
        except Enough:
            pass
        finally:
            kept = state.best is state.current
            if not kept:
                state.current = before
            state.thorough, state.put_off, state.pass_name, state.budget = thorough, put_off, each.name, None
        return kept
