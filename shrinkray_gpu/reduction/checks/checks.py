"""The checks beside the search, as one: cold confirmations, controls and full fingerprints, in this order.

Each knows its own business (`confirmations`, `guards`, `identity`); here is when they are heard. That is fixed by the
course itself, the end of a pass or of the search, and never by when an answer comes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shrinkray_gpu.oracle.verdict import Verdict
from shrinkray_gpu.reduction.checks.confirmations import Confirmations
from shrinkray_gpu.reduction.checks.fingerprints import Identity
from shrinkray_gpu.reduction.checks.lineage import Lineage, Step, Undo
from shrinkray_gpu.reduction.checks.question import Ask, Tell
from shrinkray_gpu.reduction.checks.step_controls import Guards
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.program import Program


class Checks:
    """What they say of the programs on `line`. A check that finds fault with one takes the course back by `undo`."""

    def __init__(
        self,
        line: Lineage,
        journal: Journal,
        *,
        confirm: Ask | None,
        probe: Ask | None,
        checkpoint: int,
        guard: Ask | None,
        guard_lag: int,
        identify: Ask | None,
        identify_first: int | None,
        drifted: Callable[[Verdict], None],
        doubted: Callable[[], None] | None,
        undo: Undo,
        tell: Tell,
        note: Callable[[str], None],
        wary: bool = False,
    ) -> None:
        self._undo, self._undone = undo, 0

        def look_closer() -> None:
            if doubted is not None:
                doubted()
                journal.drifted()

        self.confirmations = Confirmations(
            line,
            journal,
            confirm=confirm,
            probe=probe,
            checkpoint=checkpoint,
            undo=self._go_back,
            tell=tell,
            doubted=look_closer,
            wary=wary,
        )
        self.guards = Guards(line, journal, guard=guard, lag=guard_lag, undo=self._go_back, note=note)
        self.identity = Identity(
            line,
            journal,
            identify=identify,
            first=identify_first,
            drifted=drifted,
            forget=lambda: self._forget(journal),
            undo=self._go_back,
            tell=tell,
            note=note,
        )

    def refute(self, candidate: Program) -> bool:
        """Whether one of them refused this program before."""
        return any(candidate.key in each.refuted for each in (self.confirmations, self.guards, self.identity))

    def doubt(self, candidates: Sequence[Program], answers: list[bool | None], *, same: str) -> None:
        """Ask before a "yes" is believed, where it was too often wrong. `same`: the key of the program at hand."""
        if self.confirmations.wary:
            self.confirmations.doubt(candidates, answers)
        if self.guards.strict:
            self.guards.vouch(candidates, answers, same=same)
        if self.identity.wary:
            self.identity.vouch(candidates, answers, same=same)

    def accepted(self, step: Step) -> None:
        self.confirmations.accepted(step)
        self.guards.accepted(step)
        self.identity.accepted(step)

    def at_point(self, considered: int) -> None:
        """The end of a pass: a fixed point of the course, where verdicts that came beside the search are taken."""
        self.confirmations.at_point(considered)
        self.guards.at_point(considered)
        self.identity.at_point(considered)

    def on_the_way(self, considered: int) -> bool:
        """Between two waves of a search, where only the fingerprints are heard: whether the course was taken back. A
        pass may take a hundred candidates, and all that was accepted after a drift goes."""
        undone = self._undone
        self.identity.at_point(considered)
        return self._undone > undone

    def before_the_end(self, considered: int) -> bool:
        """Begin what `stand` will ask, for answers that are there by then. Whether the course was not taken back by one
        that was out."""
        undone = self._undone
        self.confirmations.before_the_end(considered)
        self.guards.settle()
        self.identity.before_the_end(considered)
        return self._undone == undone

    def stand(self, considered: int) -> bool:
        """Whether the end of the search stands: a cold run, the controls and the full fingerprint agree on the best, or
        cannot tell."""
        undone = self._undone
        self.confirmations.at_the_end(considered)
        if self._undone == undone:
            self.guards.at_the_end()
        if self._undone == undone:
            self.identity.at_the_end(considered)
        return self._undone == undone

    def before_leaving(self, considered: int) -> None:
        """Out of time, or asked to stop: no step that its guard refuses, or with another fault, may be the result; nor,
        where no "yes" was trusted, one that no cold run confirmed."""
        if self.confirmations.wary:
            self.confirmations.at_the_end(considered)
        self.guards.settle()
        self.identity.at_the_end(considered)

    def after_cut(self, gone: Sequence[Step]) -> None:
        self.confirmations.after_cut()
        self.guards.after_cut(gone)
        self.identity.after_cut()

    def _go_back(self, back: int, by: str, why: str) -> None:
        self._undone += 1
        self._undo(back, by, why)

    def _forget(self, journal: Journal) -> None:
        """The everyday test was tightened: no "yes" that it gave before counts any more."""
        journal.drifted()
        self.confirmations.trusted.clear()
