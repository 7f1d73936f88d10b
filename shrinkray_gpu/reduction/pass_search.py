"""One pass at work: its edits are searched for a large subset after which the fault is still there."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from shrinkray_gpu.reduction.answers import Answers
from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.edit_finder import Finding
from shrinkray_gpu.reduction.foresight import Draw, likely
from shrinkray_gpu.reduction.journal import digest
from shrinkray_gpu.reduction.marks import marks_of
from shrinkray_gpu.reduction.outcome import PassLike
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import effective, render
from shrinkray_gpu.reduction.search import Memory, Search, Subset
from shrinkray_gpu.reduction.state import State
from shrinkray_gpu.reduction.steps import Steps

Foresee = Callable[[Iterable[Program]], None]


class PassSearch:
    """The searches of one reduction, which learn from each other. `foresee` is told, before the judge is asked, what
    will most likely be asked after that."""

    def __init__(
        self,
        state: State,
        steps: Steps,
        answers: Answers,
        finding: Finding,
        *,
        foresee: Foresee | None,
        width: int,
        eager: float,
        rng: random.Random,
    ) -> None:
        self.state, self.steps, self.answers, self.finding = state, steps, answers, finding
        self.foresee, self.width, self.eager, self.rng = foresee, width, eager, rng
        self.memory = Memory()
        self.failed: set[Hashable] = set()  # marks of edits that failed in the same surroundings
        self.barren: dict[str, tuple[str, bool]] = {}  # pass: program on which it found nothing, with nothing put off
        self.coming: Sequence[PassLike] = ()  # the passes after the one that is running, in this round

    def search(self, each: PassLike) -> None:
        """Drive one search. Edits that failed in the same surroundings wait for the last, thorough round."""
        state, edits = self.state, self.finding.edits(each)
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

        course = self._course(each, program, offered, draw, self.rng)
        base: Subset = ()
        while wave := course.next():
            if wave.base != base:
                base = wave.base
                self.steps.accept(draw(base))
                drawn = {base: drawn[base]}
                if state.budget is None and self.steps.checks.on_the_way(state.considered):
                    return  # this search's program is no longer the one at hand
            candidates = [draw(base + proposal) for proposal in wave.proposals]
            if self.foresee is not None:
                self.foresee(filter(self.answers.worth_asking, likely(course, draw, self._following())))
            course.tell(self.answers.ask(candidates))
        found = course.found
        if found.accepted != base:
            self.steps.accept(draw(found.accepted))
        self.memory.learn(each.name, found)
        self.failed.update(marks[edit] for edit in found.refused)

    def fresh(self, program: Program, name: str, edits: Sequence[Edit]) -> tuple[list[Edit], Mapping[Edit, Hashable]]:
        """The edits that have not failed in the same surroundings (in the thorough round all), and the marks of all."""
        marks = marks_of(program, name, edits)
        return [edit for edit in edits if self.state.thorough or marks[edit] not in self.failed], marks

    def _course(
        self, each: PassLike, program: Program, edits: Sequence[Edit], draw: Draw, rng: random.Random
    ) -> Search:
        return Search(
            edits,
            render=draw,
            effective=lambda subset: effective(program, subset),
            width=self.width,
            prior=lambda edit: self.memory.prior(each.name, edit),
            eager=self.eager,
            rng=rng,
        )

    def _following(self) -> Iterator[tuple[Search, Draw]]:
        """The searches that the next passes will begin, if this one finds nothing."""
        program, rng = self.state.current, random.Random()
        rng.setstate(self.rng.getstate())
        for each in self.coming if self.state.budget is None else ():
            if each.needs_values or self.barren.get(each.name, ("", False))[0] == digest(program):
                continue
            edits, _ = self.fresh(program, each.name, self.finding.edits(each))
            draw = partial(render, program)
            yield self._course(each, program, edits, draw, rng), draw
