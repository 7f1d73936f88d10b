"""Edits that grow the program first (an inlined function, an unrolled loop): grown, reduced, and kept only if smaller
in the end."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from shrinkray_gpu.reduction.cached_test import CachedTest
from shrinkray_gpu.reduction.edit_finder import EditFinder
from shrinkray_gpu.reduction.limits import TrialTriesSpent
from shrinkray_gpu.reduction.outcome import PassLike
from shrinkray_gpu.reduction.pass_search import PassSearch
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import render
from shrinkray_gpu.reduction.state import State
from shrinkray_gpu.reduction.steps import Steps

TRIES = 60
"""Candidates that a grown program may cost before it must be smaller than it was."""


class GrownTrials:
    """`passes`: those of the reduction, of which the ones that neither grow nor need values reduce what has grown."""

    def __init__(
        self,
        state: State,
        steps: Steps,
        test: CachedTest,
        finder: EditFinder,
        searching: PassSearch,
        passes: Sequence[PassLike],
    ) -> None:
        self.state, self.steps, self.test, self.finder = state, steps, test, finder
        self.searching = searching
        self.passes = [each for each in passes if not each.grows and not each.needs_values]

    def run(self, each: PassLike) -> None:
        """Tried one by one; after each success the edits are found anew."""
        state, width = self.state, self.searching.course.width
        while True:
            before = state.current
            edits = self.finder.edits(each)
            fresh, marks = self.searching.fresh(before, f"{each.name} (trial)", edits)
            if len(fresh) < len(edits):
                state.put_off = True
            grown = [render(before, [edit]) for edit in fresh]
            for at in range(0, len(fresh), width):
                answers = self.test.consider(grown[at : at + width], smaller=False)
                for edit, candidate, faults in zip(fresh[at:], grown[at:], answers):
                    if faults and self._trial(each, candidate):
                        break
                    if faults is not None:
                        self.searching.refuse(marks[edit])
                if state.current is not before:
                    break
            else:
                return

    def _trial(self, each: PassLike, grown: Program) -> bool:
        """Whether a few cheap tries, for fewer tokens only, make the grown program smaller than the best."""
        state = self.state
        before = state.current
        with state.trial(TRIES), contextlib.suppress(TrialTriesSpent):
            self.steps.accept(grown)
            tokens = grown.size.tokens + 1
            while state.best is not state.current and state.current.size.tokens < tokens:
                tokens = state.current.size.tokens
                for other in self.passes:
                    if state.best is not state.current:
                        state.pass_name = f"{each.name}: {other.name}"
                        self.searching.search(other)
        return state.current is not before
