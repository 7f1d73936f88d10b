"""The steps of a reduction: a program that faults is gone on from, until a check beside the search takes it back."""

from __future__ import annotations

from shrinkray_gpu.reduction.checks.check_plan import CheckPlan
from shrinkray_gpu.reduction.checks.checks import Checks
from shrinkray_gpu.reduction.checks.lineage import Lineage
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.outcome import HearVerdict
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.state import State


class Steps:
    """What was accepted. The checks hold on to the line of it, and know the way back."""

    def __init__(self, state: State, journal: Journal, plan: CheckPlan, *, other_fault: HearVerdict) -> None:
        self.state, self.journal = state, journal
        self.line = Lineage(state.current)
        self.checks = Checks(
            plan,
            self.line,
            journal,
            undo=self._undo,
            tell=other_fault,
            note=lambda text: state.tell("note", text),
        )

    def begin(self, start: Program) -> None:
        self.line.begin(start)
        self.state.current = self.state.best = start

    def accept(self, program: Program, *, smaller: bool = True) -> None:
        """`program` faults: go on from it. Inside a trial it becomes the best only once it is smaller than that."""
        state, counts = self.state, self.state.counts
        state.current = program
        if smaller and not program.size < state.best.size:
            return
        counts.credited += program.key in counts.on_credit or program.key == state.best.key
        state.best = program
        counts.accepted += 1
        step = self.line.add(program, counts.considered)
        self.journal.best(program, size=program.size, by=state.pass_name, smaller=smaller)
        state.tell("accepted")
        self.checks.note_step(step)

    def _undo(self, back: int, by: str, why: str) -> None:
        """Take back all that was accepted after step number `back`."""
        state = self.state
        gone = self.line.roll_back_to(back)
        state.current = state.best = self.line.last.program
        state.counts.undone += 1
        self.checks.note_rollback(gone)
        kept = self.journal.roll_back(state.best, size=state.best.size, by=by, why=why)
        state.tell("rolled back", f"{why}; the smaller text is in {kept.parent.name}/{kept.name}" if kept else why)
