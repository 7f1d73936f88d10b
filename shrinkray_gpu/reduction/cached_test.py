"""The engine's one door to the interestingness test, behind what is known already: one answer a candidate.

Everything that asks comes here: searches, trials, lifted scripts, the layout, a best.py edited by hand. An answer is
free where the size order, the parser, a check or the journal knows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.oracle.verdict import Answer, Verdict
from shrinkray_gpu.reduction.checks.checks import Checks
from shrinkray_gpu.reduction.interestingness import InterestingnessTest
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.limits import Ending, TrialTriesSpent
from shrinkray_gpu.reduction.outcome import HearVerdict
from shrinkray_gpu.reduction.program import Program, text_digest
from shrinkray_gpu.reduction.state import State


class CachedTest:
    """What is known of candidates, and what `test` says of the others. `flaky`: its "no" is never final, unless it is a
    certain one. `other_fault` hears of each candidate with another fault."""

    def __init__(
        self,
        test: InterestingnessTest,
        state: State,
        journal: Journal,
        checks: Checks,
        ending: Ending,
        *,
        other_fault: HearVerdict,
        flaky: bool,
    ) -> None:
        self._test, self.state, self.journal, self.checks, self.ending = test, state, journal, checks, ending
        self.other_fault, self.flaky = other_fault, flaky

    def consider(self, candidates: Sequence[Program], *, smaller: bool = True) -> list[bool | None]:
        """Whether each of them faults; None where nobody can tell. `smaller`: what is not smaller than the program at
        hand is refused."""
        state, counts = self.state, self.state.counts
        if state.budget is not None and counts.considered >= state.budget:
            raise TrialTriesSpent  # before anything is recalled: a replay would miss it later
        answers: list[bool | None] = [None] * len(candidates)
        waiting: dict[str, list[int]] = {}
        recalled: dict[str, Verdict] = {}  # one a key, as from the test: the journal may have no second
        for index, candidate in enumerate(candidates):
            known = self._for_free(candidate, smaller, recalled)
            if known is None:
                waiting.setdefault(candidate.key, []).append(index)
            elif isinstance(known, bool):
                answers[index] = known
            else:
                answers[index] = self._believe(candidate, known)
                recalled[candidate.key] = known
        counts.considered += len(waiting) + len(recalled)  # the same in a replay, where all are recalled
        if waiting:
            self.ending.check()
            batch = [candidates[places[0]] for places in waiting.values()]
            begun = self.ending.clock()
            verdicts = self._test.judge(batch)
            counts.bill.judging += self.ending.clock() - begun
            for candidate, verdict in zip(batch, verdicts, strict=True):
                counts.tries += 1
                final = verdict.faults or verdict.certain or not self.flaky
                self.journal.record_verdict(candidate.key, verdict, final=final)
                self.other_fault(candidate, verdict)
                for index in waiting[candidate.key]:
                    answers[index] = self._believe(candidate, verdict)
        self.checks.doubt(candidates, answers, same=state.current.key)
        state.tell("tried")
        return answers

    def foresee(self, likely: Iterable[Program]) -> None:
        """What will most likely be considered after the next call of `consider`. What the test would not be asked is
        left out, as far as one can tell without taking note of anything."""
        self._test.foresee(filter(self._is_worth_asking, likely))

    def insist(self, on: bool) -> None:
        """The last round has come, or is over."""
        self._test.insist(on)

    def values(self, instrumented: Program) -> Mapping[int, str]:
        """What a watched run of the instrumented program saw, now or before a kill."""
        key = text_digest(instrumented)
        values = self.journal.recall_values(key)
        if values is None:
            self.ending.check()
            values = self._test.values(instrumented)
            self.journal.record_values(key, values)
        return values

    def _is_worth_asking(self, candidate: Program) -> bool:
        return (
            self.state.smaller(candidate)
            and candidate.parses
            and not self.journal.knows(candidate.key)
            and not self.checks.refute(candidate)
        )

    def _for_free(self, candidate: Program, smaller: bool, recalled: Mapping[str, Verdict]) -> Verdict | bool | None:
        free = self.state.counts.free
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
            self.other_fault(candidate, known)
        return known

    def _believe(self, program: Program, verdict: Verdict) -> bool | None:
        if verdict.credit:
            self.state.counts.on_credit.add(program.key)
        if verdict.provisional:
            self.state.put_off = True
        return verdict.faults if verdict.is_known else None


def once(hear: HearVerdict) -> HearVerdict:
    """Hears of candidates with another fault, and of each once."""
    known: set[tuple[str, Fault]] = set()

    def hear_once(program: Program, verdict: Verdict) -> None:
        if verdict.answer is Answer.PASSES and verdict.other is not None:
            if (program.key, verdict.other) not in known:
                known.add((program.key, verdict.other))
                hear(program, verdict)

    return hear_once
