"""Controls guard the accepted steps: what made the original pass must make each of them pass too.

A candidate that still faults with the control in place faults for another reason: the search has slipped. One guard for
each accepted step, beside the search, taken at the end of a pass; the first that is bad takes the course back. From
then on the course is strict: every "yes" is guarded before it is believed, since the same slip would be taken again at
once in another shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shrinkray_gpu.oracle.verdict import Verdict
from shrinkray_gpu.reduction.checks.lineage import Lineage, Step, Undo
from shrinkray_gpu.reduction.checks.question import Ask, Asking
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.program import Program


class Guards:
    """What the controls said. Does nothing where there are none.

    `lag`: a guard is looked at when so many candidates came after its step, so that nobody waits for it.
    """

    def __init__(
        self,
        line: Lineage,
        journal: Journal,
        *,
        guard: Ask | None,
        lag: int,
        undo: Undo,
        note: Callable[[str], None],
    ) -> None:
        self.line, self.guard, self.lag, self.undo, self.note = line, guard, lag, undo, note
        self.asking = Asking("guarded", journal, self._heard)
        self.refuted: set[str] = set()
        self.slips = 0
        self.strict = False

    @property
    def final(self) -> Verdict | None:
        """What the controls said of the best program, where they were asked and answered."""
        return self.line.last.guard.verdict if self.guard is not None and self.line.last.guard else None

    def accepted(self, step: Step) -> None:
        if self.guard is None:
            return
        before = self.line.steps[-2]
        if before.program.key == step.program.key and before.guard is not None:
            step.guard = before.guard  # the same code, unclear or not
        else:
            step.guard = self.asking.about(step.program, self.guard)

    def at_point(self, considered: int) -> None:
        """At the end of a pass: take the guards of the steps accepted so far, in their order."""
        self._settle(considered - self.lag)

    def settle(self) -> None:
        """Take all guards that are out."""
        self._settle(None)

    def at_the_end(self) -> None:
        """The final program's guard must have been asked and be good. An unclear one gets a second chance."""
        self.settle()
        last = self.line.last
        if self.guard is None or last.guard is None or not last.guard.unclear:
            return
        last.guard = self.asking.about(last.program, self.guard)
        self.settle()
        if last is self.line.last and last.guard.unclear:
            assert last.guard.verdict is not None
            self.note(f"the controls say nothing of the smallest program: {last.guard.verdict.why}")

    def after_cut(self, gone: Sequence[Step]) -> None:
        """The journal must have the answers of all that was asked, for a replay."""
        for step in gone:
            if step.guard is not None:
                self.asking.finish(step.guard)

    def slipped(self, program: Program) -> str:
        """Why the controls refuse the program; nothing if they do not."""
        if self.guard is None:
            return ""
        verdict = self.asking.finish(self.asking.about(program, self.guard))
        return "" if verdict.faults or not verdict.known else verdict.why or "it faults with the control in place too"

    def vouch(self, candidates: Sequence[Program], answers: list[bool | None], *, same: str) -> None:
        """No "yes" counts before the controls agree. Where they have nothing to say of a candidate, it is taken only if
        they have nothing to say of the best program either: a step must not shake off its guard.

        `same`: the key of the program at hand, which was believed before."""
        if self.guard is None:
            return
        slipped: set[str] = set()
        for index, asked, verdict in self.asking.of_those(candidates, answers, self.guard, same=same):
            if verdict.known:
                answers[index] = verdict.faults
                slipped |= set() if verdict.faults else {asked.program.key}
            elif self.line.last.guard is not None and self.line.last.guard.good:
                answers[index] = None
        self.slips += len(slipped)

    def _settle(self, until: int | None) -> None:
        if self.guard is None:
            return
        for index, step in enumerate(self.line.steps):
            if until is not None and step.at > until:
                return
            if step.guard is None:
                continue
            verdict = self.asking.finish(step.guard)
            if verdict.known and not verdict.faults:
                self._slip(index, verdict)
                return

    def _slip(self, bad: int, verdict: Verdict) -> None:
        """Back to the last step before that is known to be good; this one and what grew out of it is never taken
        again."""
        steps = self.line.steps
        good = self.line.latest(_vouched_for, before=bad)
        self.refuted.update(step.program.key for step in steps[bad:])
        self.refuted -= {step.program.key for step in steps[: good + 1]}
        self.slips += 1
        strict, self.strict = self.strict, True
        self.undo(good, "slip", f"a control finds another fault: {verdict.why}")
        if not strict:
            self.note("from now on the controls are asked of each candidate that faults, before it is taken")

    def _heard(self, program: Program, verdict: Verdict) -> None:
        if verdict.known and not verdict.faults:
            self.refuted.add(program.key)


def _vouched_for(step: Step) -> bool:
    return any(asked is not None and asked.good for asked in (step.guard, step.fingerprint))
