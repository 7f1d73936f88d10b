"""The full fingerprint, beside the search: at growing intervals and at the end, is it still the same fault?

Dear instruments (seconds each) see what the everyday test does not. Where they find another fault, the course has
drifted: it goes back to the last program that is the same, the everyday test is tightened so that it tells the two
apart, and what it said "yes" to before counts no more. Where it drifts all the same, the instruments look at each step
before it is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shrinkray_gpu.oracle.verdict import Verdict
from shrinkray_gpu.reduction.checks.check_plan import FingerprintPlan
from shrinkray_gpu.reduction.checks.lineage import AcceptedStep, Lineage, Undo
from shrinkray_gpu.reduction.checks.question import Question, Questions
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.outcome import HearVerdict
from shrinkray_gpu.reduction.program import Program

FIRST = 50
"""Candidates before the first fingerprint, unless the course says otherwise; the second comes after twice as many more,
and so on, up to `WIDEST` times as many: all that was accepted since the last one may have to be undone. One that was
begun is looked at so many candidates later, when it is there."""
WIDEST = 4
WIDEST_AFTER_DRIFT = 2
AT_ONCE = 3
"""Fingerprints that are out together where the step is looked for at which a course drifted."""
WARY_AFTER = 3
"""After this many drifts the everyday test is evidently beyond tightening: no step is taken unseen, see `vouch`."""


class FingerprintChecks:
    """What the full fingerprints said. Does nothing where nobody takes them. `forget` makes the course forget what the
    everyday test said "yes" to."""

    def __init__(
        self,
        plan: FingerprintPlan | None,
        line: Lineage,
        journal: Journal,
        *,
        forget: Callable[[], None],
        undo: Undo,
        tell: HearVerdict,
        note: Callable[[str], None],
    ) -> None:
        self.plan, self.line, self.forget, self.undo, self.note = plan, line, forget, undo, note
        self.first = (plan.first if plan else None) or FIRST
        self.questions = Questions("identified", journal, tell)
        self.refuted: set[str] = set()
        self.slips: list[str] = []
        """Why, for each program that was taken back."""
        self._out: AcceptedStep | None = None  # its fingerprint is being taken
        self._interval = self._next = self.first
        self._due = 0

    @property
    def wary(self) -> bool:
        """Whether no step is taken before its fingerprint is the same."""
        return len(self.slips) >= WARY_AFTER

    @property
    def last_same(self) -> Program | None:
        """The last accepted program with the same fingerprint."""
        return None if self.plan is None else self.line.steps[self.line.latest(_identified)].program

    def note_step(self, step: AcceptedStep) -> None:
        """Only looks whether the same code has a fingerprint."""
        known = self.questions.known.get(step.program.key)
        before = self.line.steps[-2]
        if known is not None and not known.unclear:
            step.fingerprint = known
        elif before.program.key == step.program.key:
            step.fingerprint = before.fingerprint

    def at_point(self, considered: int) -> None:
        """Between two waves of a search, if it is time: take the fingerprint that is out, begin the next."""
        if self._out is not None and considered >= self._due:
            self.settle(considered)
        if self.plan is None or considered < self._next or self._out is not None:
            return
        if self.line.last.fingerprint is None:
            self._begin()
            self._due = considered + self.first
            widest = WIDEST_AFTER_DRIFT if self.slips else WIDEST
            self._interval = min(2 * self._interval, widest * self.first)
            self._next = considered + self._interval

    def before_the_end(self, considered: int) -> None:
        """Most likely the end: it is looked at while the last round goes on."""
        if self._out is not self.line.last:
            self.settle(considered)
        if self.plan is not None and self.line.last.fingerprint is None:
            self._begin()
            self._due = considered + WIDEST * self.first

    def at_the_end(self, considered: int) -> None:
        self.settle(considered)
        last = self.line.last.fingerprint
        if self.plan is not None and (last is None or last.unclear):
            self._begin()
            self.settle(considered)

    def settle(self, considered: int) -> None:
        """Take the fingerprint that is out, if any."""
        if self._out is None:
            return
        step, self._out = self._out, None
        verdict = self._take(step)
        if not verdict.is_known:
            self.note(f"the full fingerprint could not be taken this time: {verdict.why}")
        elif not verdict.faults:
            self._slip(step, verdict, considered)

    def note_rollback(self) -> None:
        """The journal must have the answers of all that was asked, for a replay."""
        if self._out is not None and self._out not in self.line.steps:
            self._take(self._out)
            self._out = None

    def slip_reason(self, program: Program) -> str:
        """Why the program's fault is another one; nothing if it is not known to be."""
        if self.plan is None:
            return ""
        verdict = self.questions.finish(self._about(program))
        return "" if verdict.faults or not verdict.is_known else _reason(verdict)

    def vouch(self, candidates: Sequence[Program], answers: list[bool | None], *, same: str) -> None:
        """The first "yes" counts only if its fingerprint is the same, else the next. What comes after it is merged with
        it, and asked about again then. `same`: the key of the program at hand."""
        if self.plan is None:
            return
        for index, candidate in enumerate(candidates):
            if not answers[index] or candidate.key == same:
                continue
            verdict = self.questions.finish(self._about(candidate))
            if verdict.is_known and not verdict.faults:
                answers[index] = False
                self.refuted.add(candidate.key)
            elif not verdict.is_known and self.line.last.fingerprint is not None and self.line.last.fingerprint.good:
                answers[index] = None
            else:
                return

    def _slip(self, seen: AcceptedStep, verdict: Verdict, considered: int) -> None:
        """Back to the last step with the same fingerprint, by bisection, with several out at once: each takes seconds.
        The verdict nearest to it tells best what the everyday test must learn to see."""
        steps = self.line.steps
        first_other = unsure = steps.index(seen)
        good = self.line.latest(_identified, before=first_other)
        while unsure - good > 1:
            parts = range(1, AT_ONCE + 1)
            between = sorted({good + (unsure - good) * part // (AT_ONCE + 1) for part in parts} - {good})
            for at in between:
                self._ask(steps[at])
            for at, said in [(at, self._take(steps[at])) for at in between]:
                if not said.faults:
                    unsure = at
                    if said.is_known:
                        first_other, verdict = at, said
                    break
                good = at
        self.refuted.update(step.program.key for step in steps[first_other:])
        self.refuted -= {step.program.key for step in steps[: good + 1]}
        self.slips.append(_reason(verdict))
        self._interval, self._next = self.first, considered + self.first
        self.undo(good, "drift", f"the full fingerprint is another: {_reason(verdict)}")
        assert self.plan is not None
        self.plan.drifted(verdict)
        self.forget()
        if len(self.slips) == WARY_AFTER:
            self.note("the everyday test drifts all the same: the instruments look at each step before it is taken")

    def _begin(self) -> None:
        self._out = self.line.last
        self._out.fingerprint = self._about(self._out.program)

    def _about(self, program: Program) -> Question:
        assert self.plan is not None
        return self.questions.about(program, self.plan.ask)

    def _ask(self, step: AcceptedStep) -> Question:
        if step.fingerprint is None:
            step.fingerprint = self._about(step.program)
        return step.fingerprint

    def _take(self, step: AcceptedStep) -> Verdict:
        return self.questions.finish(self._ask(step))


def _identified(step: AcceptedStep) -> bool:
    return step.fingerprint is not None and step.fingerprint.good


def _reason(verdict: Verdict) -> str:
    return verdict.why or str(verdict.other or "no reason given")
