"""Controls watch over the accepted steps: what made the original pass must make each of them pass too.

A candidate that still faults with the control in place faults for another reason: the search has slipped. The controls
are asked of each accepted step, beside the search, and heard at the end of a pass; the first that refuses a step takes
the course back. From then on the course is strict: they are asked before any "yes" is believed, since the same slip
would be taken again at once in another shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shrinkray_gpu.oracle.verdict import Verdict
from shrinkray_gpu.reduction.checks.check_plan import ControlPlan
from shrinkray_gpu.reduction.checks.lineage import AcceptedStep, Lineage, Undo
from shrinkray_gpu.reduction.checks.question import Question, Questions
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.program import Program


class StepControls:
    """What the controls said. Does nothing where there are none."""

    def __init__(
        self,
        plan: ControlPlan | None,
        line: Lineage,
        journal: Journal,
        *,
        undo: Undo,
        note: Callable[[str], None],
    ) -> None:
        self.plan, self.line, self.undo, self.note = plan, line, undo, note
        self.questions = Questions("guarded", journal, self._heard)
        self.refuted: set[str] = set()
        self.slips = 0
        self.strict = False

    @property
    def final(self) -> Verdict | None:
        """What the controls said of the best program, where they were asked and answered."""
        return self.line.last.controls.verdict if self.plan is not None and self.line.last.controls else None

    def note_step(self, step: AcceptedStep) -> None:
        if self.plan is None:
            return
        before = self.line.steps[-2]
        if before.program.key == step.program.key and before.controls is not None:
            step.controls = before.controls  # the same code, unclear or not
        else:
            step.controls = self._about(step.program)

    def at_point(self, considered: int) -> None:
        """At the end of a pass: hear the controls on the steps accepted so far, in their order."""
        self._settle(considered - self.plan.lag if self.plan else None)

    def settle(self) -> None:
        """Hear all that is out."""
        self._settle(None)

    def at_the_end(self) -> None:
        """The controls must agree on the final program. If they could not tell, they get a second chance."""
        self.settle()
        last = self.line.last
        if self.plan is None or last.controls is None or not last.controls.unclear:
            return
        last.controls = self._about(last.program)
        self.settle()
        if last is self.line.last and last.controls.unclear:
            assert last.controls.verdict is not None
            self.note(f"the controls say nothing of the smallest program: {last.controls.verdict.why}")

    def note_rollback(self, gone: Sequence[AcceptedStep]) -> None:
        """The journal must have the answers of all that was asked, for a replay."""
        for step in gone:
            if step.controls is not None:
                self.questions.finish(step.controls)

    def slip_reason(self, program: Program) -> str:
        """Why the controls refuse the program; nothing if they do not."""
        if self.plan is None:
            return ""
        verdict = self.questions.finish(self._about(program))
        return (
            "" if verdict.faults or not verdict.is_known else verdict.why or "it faults with the control in place too"
        )

    def vouch(self, candidates: Sequence[Program], answers: list[bool | None], *, same: str) -> None:
        """No "yes" counts before the controls agree. Where they have nothing to say of a candidate, it is taken only if
        they have nothing to say of the best program either: a step must not shake off its controls.

        `same`: the key of the program at hand, which was believed before."""
        if self.plan is None:
            return
        slipped: set[str] = set()
        for index, asked, verdict in self.questions.of_those(candidates, answers, self.plan.ask, same=same):
            if verdict.is_known:
                answers[index] = verdict.faults
                slipped |= set() if verdict.faults else {asked.program.key}
            elif self.line.last.controls is not None and self.line.last.controls.good:
                answers[index] = None
        self.slips += len(slipped)

    def _settle(self, until: int | None) -> None:
        if self.plan is None:
            return
        for index, step in enumerate(self.line.steps):
            if until is not None and step.at > until:
                return
            if step.controls is None:
                continue
            verdict = self.questions.finish(step.controls)
            if verdict.is_known and not verdict.faults:
                self._slip(index, verdict)
                return

    def _slip(self, bad: int, verdict: Verdict) -> None:
        """Back to the last step before that is known to be good; this one and what grew out of it is never taken
        again."""
        steps = self.line.steps
        good = self.line.latest(_is_vouched_for, before=bad)
        self.refuted.update(step.program.key for step in steps[bad:])
        self.refuted -= {step.program.key for step in steps[: good + 1]}
        self.slips += 1
        strict, self.strict = self.strict, True
        self.undo(good, "slip", f"a control finds another fault: {verdict.why}")
        if not strict:
            self.note("from now on the controls are asked of each candidate that faults, before it is taken")

    def _about(self, program: Program) -> Question:
        assert self.plan is not None
        return self.questions.about(program, self.plan.ask)

    def _heard(self, program: Program, verdict: Verdict) -> None:
        if verdict.is_known and not verdict.faults:
            self.refuted.add(program.key)


def _is_vouched_for(step: AcceptedStep) -> bool:
    return any(asked is not None and asked.good for asked in (step.controls, step.fingerprint))
