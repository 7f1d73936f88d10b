"""One answer a candidate: for free where that is possible, from the judge otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.oracle.verdict import Answer, Verdict
from shrinkray_gpu.reduction.checks.checks import Checks
from shrinkray_gpu.reduction.checks.question import Tell
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.limits import Ending, Enough
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.state import State

Judge = Callable[[Sequence[Program]], Sequence[Verdict]]


class Answers:
    """What is known of candidates, and what the judge says of the others. `flaky`: its "no" is never final, unless it
    is a certain one. `found` gets each candidate with another fault."""

    def __init__(
        self, state: State, journal: Journal, checks: Checks, ending: Ending, judge: Judge, found: Tell, *, flaky: bool
    ) -> None:
        self.state, self.journal, self.checks, self.ending = state, journal, checks, ending
        self.judge, self.found, self.flaky = judge, found, flaky

    def ask(self, candidates: Sequence[Program], *, smaller: bool = True) -> list[bool | None]:
        """Whether each of them faults; None where nobody can tell. `smaller`: what is not smaller than the program at
        hand is refused."""
        state = self.state
        if state.budget is not None and state.considered >= state.budget:
            raise Enough  # before anything is recalled: a replay would miss it later
        answers: list[bool | None] = [None] * len(candidates)
        waiting: dict[str, list[int]] = {}
        recalled: dict[str, Verdict] = {}  # one a key, as from the judge: the journal may have no second
        for index, candidate in enumerate(candidates):
            settled = self._for_free(candidate, smaller, recalled)
            if settled is None:
                waiting.setdefault(candidate.key, []).append(index)
            elif isinstance(settled, bool):
                answers[index] = settled
            else:
                answers[index] = self._believe(candidate, settled)
                recalled[candidate.key] = settled
        state.considered += len(waiting) + len(recalled)  # the same in a replay, where all are recalled
        if waiting:
            self.ending.check()
            batch = [candidates[places[0]] for places in waiting.values()]
            begun = self.ending.clock()
            verdicts = self.judge(batch)
            state.bill.judging += self.ending.clock() - begun
            for candidate, verdict in zip(batch, verdicts, strict=True):
                state.tries += 1
                final = verdict.faults or verdict.certain or not self.flaky
                self.journal.judged(candidate.key, verdict, final=final)
                self.found(candidate, verdict)
                for index in waiting[candidate.key]:
                    answers[index] = self._believe(candidate, verdict)
        self.checks.doubt(candidates, answers, same=state.current.key)
        state.tell("tried")
        return answers

    def worth_asking(self, candidate: Program) -> bool:
        """Whether the judge would be asked, as far as one can tell without taking note of anything."""
        return (
            self.state.smaller(candidate)
            and candidate.parses
            and not self.journal.knows(candidate.key)
            and not self.checks.refute(candidate)
        )

    def _for_free(self, candidate: Program, smaller: bool, recalled: Mapping[str, Verdict]) -> Verdict | bool | None:
        free = self.state.free
        if smaller and not self.state.smaller(candidate):
            free["not smaller"] += 1
            return False
        if not candidate.parses:
            free["does not parse"] += 1
            return False
        if self.checks.refute(candidate):
            free["refuted"] += 1
            return False
        if candidate.key == self.state.current.key:
            free["same code"] += 1
            return True
        known = recalled.get(candidate.key)
        if known is None:
            known = self.journal.recall(candidate.key, insist=self.state.thorough)
        if known is not None:
            free["judged before"] += 1
            self.found(candidate, known)
        return known

    def _believe(self, program: Program, verdict: Verdict) -> bool | None:
        if verdict.credit:
            self.state.on_credit.add(program.key)
        if verdict.provisional:
            self.state.put_off = True
        return verdict.faults if verdict.known else None


def once(found: Tell) -> Tell:
    """Tell of candidates with another fault, and of each once."""
    told: set[tuple[str, Fault]] = set()

    def tell(program: Program, verdict: Verdict) -> None:
        if verdict.answer is Answer.PASSES and verdict.other is not None:
            if (program.key, verdict.other) not in told:
                told.add((program.key, verdict.other))
                found(program, verdict)

    return tell
