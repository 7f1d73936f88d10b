"""The steps of a reduction: a program that faults is gone on from, until a check beside the search takes it back."""

from __future__ import annotations

from collections.abc import Callable

from shrinkray_gpu.reduction.checks.checks import Checks
from shrinkray_gpu.reduction.checks.lineage import Lineage
from shrinkray_gpu.reduction.checks.question import Tell
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.state import State


class Steps:
    """What was accepted. `checks` makes the checks, which hold on to the line and know the way back."""

    def __init__(self, state: State, journal: Journal, checks: Callable[..., Checks], found: Tell) -> None:
        self.state, self.journal = state, journal
        self.line = Lineage(state.current)
        self.checks = checks(
            self.line, journal, undo=self._undo, tell=found, note=lambda text: state.tell("note", text)
        )

    def begin(self, start: Program) -> None:
        self.line.begin(start)
        self.state.current = self.state.best = start

    def accept(self, program: Program, *, by: str = "", smaller: bool = True) -> None:
        """`program` faults: go on from it. Inside a trial it becomes the best only once it is smaller than that."""
        state = self.state
        state.current = program
        if smaller and not program.size < state.best.size:
            return
        state.credited += program.key in state.on_credit or program.key == state.best.key
        state.best = program
        state.accepted += 1
        step = self.line.add(program, state.considered)
        self.journal.best(program, size=program.size, by=by or state.pass_name, smaller=smaller)
        state.tell("accepted")
        self.checks.accepted(step)

    def _undo(self, back: int, by: str, why: str) -> None:
        """Take back all that was accepted after step number `back`."""
        state = self.state
        gone = self.line.cut(back)
        state.current = state.best = self.line.last.program
        state.undone += 1
        self.checks.after_cut(gone)
        self.journal.best(state.best, size=state.best.size, by=by, smaller=False)
        state.tell("rolled back", why)
