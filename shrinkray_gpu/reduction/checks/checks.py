"""The checks beside the search, as one: cold confirmations, controls and full fingerprints, in this order.

Each knows its own business (`confirmations`, `step_controls`, `fingerprint_checks`); here is when they are heard. The
course itself fixes that, by the end of a pass or of the search, and never the time at which an answer comes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shrinkray_gpu.reduction.checks.check_plan import CheckPlan
from shrinkray_gpu.reduction.checks.confirmations import Confirmations
from shrinkray_gpu.reduction.checks.fingerprint_checks import FingerprintChecks
from shrinkray_gpu.reduction.checks.lineage import AcceptedStep, Lineage, Undo
from shrinkray_gpu.reduction.checks.step_controls import StepControls
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.outcome import CheckResults, HearVerdict
from shrinkray_gpu.reduction.program import Program


class Checks:
    """What they say of the programs on `line`. A check that finds fault with one takes the course back by `undo`."""

    def __init__(
        self,
        plan: CheckPlan,
        line: Lineage,
        journal: Journal,
        *,
        undo: Undo,
        tell: HearVerdict,
        note: Callable[[str], None],
    ) -> None:
        self._undo, self._undone, self._journal = undo, 0, journal
        self.confirmations = Confirmations(
            plan.confirmation, line, journal, undo=self._go_back, tell=tell, look_closer=journal.record_drift
        )
        self.controls = StepControls(plan.controls, line, journal, undo=self._go_back, note=note)
        self.fingerprints = FingerprintChecks(
            plan.fingerprint, line, journal, forget=self._forget, undo=self._go_back, tell=tell, note=note
        )

    def results(self) -> CheckResults:
        return CheckResults(
            rollbacks=self.confirmations.rollbacks,
            verified=self.confirmations.proven,
            shown=self.confirmations.shown,
            control_checks=self.controls.questions.count,
            control_slips=self.controls.slips,
            controls=self.controls.final,
            fingerprint_slips=tuple(self.fingerprints.slips),
            last_same=self.fingerprints.last_same,
        )

    def refute(self, candidate: Program) -> bool:
        """Whether one of them refused this program before."""
        return any(candidate.key in each.refuted for each in (self.confirmations, self.controls, self.fingerprints))

    def doubt(self, candidates: Sequence[Program], answers: list[bool | None], *, same: str) -> None:
        """Ask before a "yes" is believed, where it was too often wrong. `same`: the key of the program at hand."""
        if self.confirmations.wary:
            self.confirmations.doubt(candidates, answers)
        if self.controls.strict:
            self.controls.vouch(candidates, answers, same=same)
        if self.fingerprints.wary:
            self.fingerprints.vouch(candidates, answers, same=same)

    def note_step(self, step: AcceptedStep) -> None:
        self.confirmations.note_step(step)
        self.controls.note_step(step)
        self.fingerprints.note_step(step)

    def at_point(self, considered: int) -> None:
        """The end of a pass: a fixed point of the course, where verdicts that came beside the search are taken."""
        self.confirmations.at_point(considered)
        self.controls.at_point(considered)
        self.fingerprints.at_point(considered)

    def on_the_way(self, considered: int) -> bool:
        """Between two waves of a search, where only the fingerprints are heard: whether the course was taken back. A
        pass may take a hundred candidates, and all that was accepted after a drift goes."""
        undone = self._undone
        self.fingerprints.at_point(considered)
        return self._undone > undone

    def before_the_end(self, considered: int) -> bool:
        """Begin what `stand` will ask, for answers that are there by then. Whether the course was not taken back by one
        that was out."""
        undone = self._undone
        self.confirmations.before_the_end(considered)
        self.controls.settle()
        self.fingerprints.before_the_end(considered)
        return self._undone == undone

    def stand(self, considered: int) -> bool:
        """Whether the end of the search stands: a cold run, the controls and the full fingerprint agree on the best, or
        cannot tell."""
        undone = self._undone
        self.confirmations.at_the_end(considered)
        if self._undone == undone:
            self.controls.at_the_end()
        if self._undone == undone:
            self.fingerprints.at_the_end(considered)
        return self._undone == undone

    def before_leaving(self, considered: int) -> None:
        """Out of time, or asked to stop: the result may be no step that the controls refuse, and none with another
        fault; nor, where no "yes" was trusted, one that no cold run confirmed."""
        if self.confirmations.wary:
            self.confirmations.at_the_end(considered)
        self.controls.settle()
        self.fingerprints.at_the_end(considered)

    def note_rollback(self, gone: Sequence[AcceptedStep]) -> None:
        self.confirmations.note_rollback()
        self.controls.note_rollback(gone)
        self.fingerprints.note_rollback()

    def _go_back(self, back: int, by: str, why: str) -> None:
        self._undone += 1
        self._undo(back, by, why)

    def _forget(self) -> None:
        """The everyday test was tightened: no "yes" that it gave before counts any more."""
        self._journal.record_drift()
        self.confirmations.forget()
