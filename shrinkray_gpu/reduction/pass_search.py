"""One pass at work: its edits are searched for a large subset after which the fault is still there."""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import partial

from shrinkray_gpu.reduction.cached_test import CachedTest
from shrinkray_gpu.reduction.course import Course
from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.edit_finder import EditFinder
from shrinkray_gpu.reduction.foresight import Draw, likely
from shrinkray_gpu.reduction.marks import marks_of
from shrinkray_gpu.reduction.outcome import PassLike
from shrinkray_gpu.reduction.program import Program, text_digest
from shrinkray_gpu.reduction.rendering.render import effective, render
from shrinkray_gpu.reduction.search import Memory, Search, Subset
from shrinkray_gpu.reduction.state import State
from shrinkray_gpu.reduction.steps import Steps


class PassSearch:
    """The searches of one course, which learn from each other."""

    def __init__(self, state: State, steps: Steps, test: CachedTest, finder: EditFinder, course: Course) -> None:
        self.state, self.steps, self.test, self.finder, self.course = state, steps, test, finder, course
        self.memory = Memory()
        self._rng = random.Random(course.seed)
        self._failed: set[Hashable] = set()  # marks of edits that failed in the same surroundings
        self._barren: dict[Hashable, tuple[str, bool]] = {}
        """By what finds the edits of a pass: the program on which it found nothing, and whether nothing was put off."""

    def search(self, each: PassLike, coming: Sequence[PassLike] = ()) -> None:
        """Drive one search. Edits that failed in the same surroundings wait for the last, thorough round. `coming`: the
        passes after this one, in this round."""
        state, edits = self.state, self.finder.edits(each)
        program = state.current
        offered, marks = self.fresh(program, each.name, edits)
        if len(offered) < len(edits):
            state.put_off = True
        if not offered:
            return
        drawn: dict[Subset, Program] = {}

        def draw(subset: Sequence[Edit]) -> Program:
            subset = tuple(subset)
            if subset not in drawn:
                drawn[subset] = render(program, subset)
            return drawn[subset]

        search = self._search(each, program, offered, draw, self._rng)
        base: Subset = ()
        while wave := search.next():
            if wave.base != base:
                base = wave.base
                self.steps.accept(draw(base))
                drawn = {base: drawn[base]}
                if state.budget is None and self.steps.checks.on_the_way(state.counts.considered):
                    return  # this search's program is no longer the one at hand
            candidates = [draw(base + proposal) for proposal in wave.proposals]
            self.test.foresee(likely(search, draw, self._following(coming)))
            search.tell(self.test.consider(candidates))
        result = search.result
        if result.accepted != base:
            self.steps.accept(draw(result.accepted))
        self.memory.learn(each.name, result)
        self._failed.update(marks[edit] for edit in result.refused)

    def fresh(self, program: Program, name: str, edits: Sequence[Edit]) -> tuple[list[Edit], Mapping[Edit, Hashable]]:
        """The edits that have not failed in the same surroundings (in the thorough round all), and the marks of all."""
        marks = marks_of(program, name, edits)
        return [edit for edit in edits if self.state.thorough or marks[edit] not in self._failed], marks

    def refuse(self, mark: Hashable) -> None:
        """The edit with this mark failed: in the same surroundings it waits for the last round."""
        self._failed.add(mark)

    def note_barren(self, each: PassLike, program: Program, *, whole: bool) -> None:
        """The pass found nothing on this program; `whole`: and none of its edits was put off."""
        self._barren[each.find] = (text_digest(program), whole)

    def barren(self, each: PassLike, program: Program) -> bool | None:
        """None where the pass may find something on this program. Else it found nothing there before: False if some of
        its edits were put off then."""
        on, whole = self._barren.get(each.find, ("", False))
        return whole if on == text_digest(program) else None

    def _search(
        self, each: PassLike, program: Program, edits: Sequence[Edit], draw: Draw, rng: random.Random
    ) -> Search:
        return Search(
            edits,
            render=draw,
            effective=lambda subset: effective(program, subset),
            width=self.course.width,
            prior=lambda edit: self.memory.prior(each.name, edit),
            eager=self.course.eager,
            rng=rng,
        )

    def _following(self, coming: Sequence[PassLike]) -> Iterator[tuple[Search, Draw]]:
        """The searches that the next passes will begin, if this one finds nothing."""
        program, rng = self.state.current, random.Random()
        rng.setstate(self._rng.getstate())
        for each in coming if self.state.budget is None else ():
            if each.needs_values or self.barren(each, program) is not None:
                continue
            edits, _ = self.fresh(program, each.name, self.finder.edits(each))
            draw = partial(render, program)
            yield self._search(each, program, edits, draw, rng), draw
