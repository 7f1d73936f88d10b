"""The accepted programs in order, from the start to the best, and what each check knows of them.

The checks beside the search (cold runs, controls, full fingerprints) each vouch for some of these steps. Going back is
cutting the line short: whatever was known of the steps that are left stays true.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shrinkray_gpu.oracle.verdict import shows
from shrinkray_gpu.reduction.checks.question import Question
from shrinkray_gpu.reduction.program import Program

Undo = Callable[[int, str, str], None]
"""Go back to the step of this number: the journal's word for it, and why."""


@dataclass(eq=False)
class AcceptedStep:
    """One accepted program."""

    program: Program
    at: int = 0
    """Candidates considered before it was accepted."""
    probed: bool = False
    """A confirmation, quick or cold, showed the fault."""
    proven: bool = False
    """A cold run showed it."""
    controls: Question | None = None
    """What the controls said."""
    fingerprint: Question | None = None
    """What the dear instruments said."""


class Lineage:
    """Never empty: the first step is what the course began with, and every check holds for it by definition."""

    def __init__(self, start: Program) -> None:
        self.steps: list[AcceptedStep] = []
        self.begin(start)

    def begin(self, start: Program) -> None:
        known = Question(start, verdict=shows("the course began with it"))
        self.steps[:] = [AcceptedStep(start, probed=True, proven=True, controls=known, fingerprint=known)]

    @property
    def last(self) -> AcceptedStep:
        return self.steps[-1]

    def add(self, program: Program, at: int) -> AcceptedStep:
        step = AcceptedStep(program, at)
        self.steps.append(step)
        return step

    def step_of(self, program: Program) -> AcceptedStep | None:
        return next((step for step in reversed(self.steps) if step.program == program), None)

    def latest(self, holds: Callable[[AcceptedStep], bool], *, before: int | None = None) -> int:
        """Where the last step stands for which this holds, as it does for the first one."""
        steps = self.steps[:before]
        return next((at for at in reversed(range(len(steps))) if holds(steps[at])), 0)

    def roll_back_to(self, back: int) -> list[AcceptedStep]:
        """End with step number `back`; returns those that went."""
        gone = self.steps[back + 1 :]
        del self.steps[back + 1 :]
        return gone
