"""Cold confirmations: a "yes" of the test is checked in a fresh process beside the search, and taken back if wrong.

One for every so many candidates, and one at the end. A probe, where there is one, is a quicker confirmation that stands
in for all of them but the last. Verdicts are taken at fixed points of the course and never when they happen to come, so
that the same seed gives the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from shrinkray_gpu.oracle.verdict import Verdict
from shrinkray_gpu.reduction.checks.check_plan import ConfirmationPlan
from shrinkray_gpu.reduction.checks.lineage import AcceptedStep, Lineage, Undo
from shrinkray_gpu.reduction.checks.question import Question, Questions
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.outcome import HearVerdict
from shrinkray_gpu.reduction.program import Program

PATIENT = 6
"""A cold run asked for beside the end is looked at so many times later than a probe: it takes ten times as long, and
the rounds in between ask little that is new."""
WARY_AFTER = 3
"""After this many rollbacks the test's "yes" is not trusted any more: each is confirmed cold before it is accepted."""


@dataclass(frozen=True, eq=False)
class _PendingConfirmation:
    """A confirmation asked for. `due`: the number of candidates after which it is looked at."""

    asked: Question
    quick: bool
    cold: bool
    """Whether a cold run answers, as it does for a probe where there is none."""
    due: float


class Confirmations:
    """What cold runs and probes said of the accepted programs. Does nothing where there are neither. `look_closer`
    makes the course forget each "yes" of a test that looks closer from now on."""

    def __init__(
        self,
        plan: ConfirmationPlan,
        line: Lineage,
        journal: Journal,
        *,
        undo: Undo,
        tell: HearVerdict,
        look_closer: Callable[[], None],
    ) -> None:
        self.plan, self.line, self.undo, self.look_closer = plan, line, undo, look_closer
        self.questions = Questions("confirmed", journal, tell)
        self.refuted: set[str] = set()
        self.trusted: set[str] = set()
        self.rollbacks = 0
        self.shown: Program | None = None
        """The last one, in its very text, that a cold run showed; no answer of a replay."""
        self._cold = plan.cold
        self._probe = plan.probe or plan.cold
        self._out: list[_PendingConfirmation] = []
        """Asked for and not yet looked at, in the order of asking."""
        self._next = 0

    @property
    def cold_runs(self) -> bool:
        """Whether there are any."""
        return self._cold is not None

    @property
    def wary(self) -> bool:
        return (self.plan.wary or self.rollbacks >= WARY_AFTER) and self._probe is not None

    @property
    def proven(self) -> Program:
        """The last accepted program that a cold run confirmed."""
        return self.line.steps[self.line.latest(_proven)].program

    @property
    def last_verified(self) -> Program:
        """The same, but it may rest on a probe."""
        return self.line.steps[self.line.latest(_probed)].program

    def note_step(self, step: AcceptedStep) -> None:
        step.probed = step.program.key in self.trusted
        step.proven = step.probed and self._probe is self._cold

    def trust(self, step: AcceptedStep) -> None:
        """A cold run confirmed it."""
        self._trust(step, proven=True)

    def at_point(self, considered: int) -> None:
        """At the end of a pass: look at the cold run asked for last time, if it has had time, and ask for the next.

        A cold process takes seconds, so its verdict is looked at so many candidates later, when it should be there. It
        is taken here or not at all, and waited for if need be: the course does not depend on when it came.
        """
        if self._probe is None or considered < self._next:
            return
        self.settle(considered)
        last = self.line.last
        if not last.probed:
            self._ask_later(considered, quick=True)
        elif self.plan.wary and not last.proven:  # a probe was asked of each step, and tells less
            self._ask_later(considered, quick=False)

    def before_the_end(self, considered: int) -> None:
        """Most likely the end: have it confirmed while the last round goes on, beside what else is out."""
        last = self.line.last
        asked = any(out.asked.program is last.program and out.cold for out in self._out)
        if self._cold is not None and not last.proven and not asked:
            self._ask_later(considered, quick=False, waits=PATIENT if self._probe is not self._cold else 1)

    def at_the_end(self, considered: int) -> None:
        self.settle()
        if self._cold is not None and not self.line.last.proven:
            self._ask_later(considered, quick=False)
            self.settle()

    def settle(self, considered: float = inf) -> None:
        """Take the verdicts of the confirmations that are out, and due after so many candidates, in the order in which
        they were asked for."""
        while out := next((each for each in self._out if each.due <= considered), None):
            self._out.remove(out)
            verdict = self._finish(out.asked, cold=out.cold)
            step = self.line.step_of(out.asked.program)
            if step is None:
                continue
            if verdict.faults:
                self._trust(step, proven=out.cold)
            elif verdict.is_known and not self._outlived(step):
                self._roll_back(step, quick=out.quick)

    def _outlived(self, step: AcceptedStep) -> bool:
        """Whether a later program is proven: then nothing rests on this one."""
        return self.line.steps.index(step) < self.line.latest(_proven)

    def note_rollback(self) -> None:
        """The line was cut short: what is out about a program that went is of no more use. Its answer is taken all the
        same, since the journal must have it for a replay."""
        for out in self._out:
            if self.line.step_of(out.asked.program) is None:
                self.questions.finish(out.asked)
        self._out = [out for out in self._out if self.line.step_of(out.asked.program) is not None]
        self._next = 0

    def forget(self) -> None:
        """The everyday test was tightened: what was confirmed before is confirmed anew."""
        self.trusted.clear()

    def cold(self, program: Program) -> Verdict:
        return self._answer(program, quick=False)

    def doubt(self, candidates: Sequence[Program], answers: list[bool | None]) -> None:
        """The judge was wrong too often: no "yes" counts before a cold run says so as well."""
        verified = self.last_verified.key
        doubtful = [
            (index, self._start(candidate, quick=True))
            for index, candidate in enumerate(candidates)
            if answers[index] and candidate.key not in self.trusted and candidate.key != verified
        ]
        for index, asked in doubtful:
            verdict = self.questions.finish(asked)
            answers[index] = verdict.faults if verdict.is_known else None
            if verdict.is_known:
                (self.trusted if verdict.faults else self.refuted).add(candidates[index].key)

    def _ask_later(self, considered: int, *, quick: bool, waits: int = 1) -> None:
        asked = self._start(self.line.last.program, quick=quick)
        cold = not quick or self._probe is self._cold
        self._out.append(_PendingConfirmation(asked, quick, cold, due=considered + waits * self.plan.interval))
        self._next = considered + self.plan.interval

    def _trust(self, step: AcceptedStep, *, proven: bool) -> None:
        step.probed, step.proven = True, step.proven or proven
        self.trusted.add(step.program.key)

    def _roll_back(self, bad: AcceptedStep, *, quick: bool) -> None:
        """Go back to the last accepted program that is confirmed; never take the others again.

        A probe is quick, so all suspects are probed at once. Cold runs are not: those are bisected.
        """
        steps = self.line.steps
        last = steps.index(bad)
        if not quick:  # a probe that a cold run overrules is asked no more, and what it said is forgotten
            self._probe = self._cold
            self.trusted.clear()
            for step in steps:
                step.probed = step.proven
        good = self.line.latest(_probed if quick else _proven, before=last)
        if quick:
            asked = [self._start(step.program, quick=True) for step in steps[good + 1 : last]]
            faults = [self.questions.finish(each).faults for each in asked]
            good += (faults + [False]).index(False)
        else:
            first_bad = last
            while first_bad - good > 1:
                middle = (good + first_bad) // 2
                if self._answer(steps[middle].program, quick=False).faults:
                    good = middle
                else:
                    first_bad = middle
        self.refuted.update(step.program.key for step in steps[good + 1 :])
        self.refuted -= self.trusted | {steps[good].program.key}
        self._trust(steps[good], proven=not quick)
        self.rollbacks += 1
        self.undo(good, "rollback", f"a {'probe' if quick else 'cold run'} did not show the fault")
        if self.rollbacks == 1:
            self._doubt_the_test()

    def _doubt_the_test(self) -> None:
        if self.plan.doubted is not None:
            self.plan.doubted()
            self.look_closer()

    def _answer(self, program: Program, *, quick: bool) -> Verdict:
        return self._finish(self._start(program, quick=quick), cold=not quick or self._probe is self._cold)

    def _finish(self, asked: Question, *, cold: bool) -> Verdict:
        verdict = self.questions.finish(asked)
        if cold and verdict.faults and asked.recalled is None:
            self.shown = asked.program
        return verdict

    def _start(self, program: Program, *, quick: bool) -> Question:
        ask = self._probe if quick else self._cold
        assert ask is not None
        return self.questions.start(program, ask, kind="confirmed" if ask is self._cold else "probed")


def _probed(step: AcceptedStep) -> bool:
    return step.probed


def _proven(step: AcceptedStep) -> bool:
    return step.proven
