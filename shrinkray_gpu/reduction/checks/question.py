"""A question asked beside the search: begun now, its answer taken later, at a fixed point of the course.

Answers are written to the journal when they are taken. A replay finds them there, those of one kind about one program
in the order in which they were taken, and begins nothing; what was still out at a kill is asked again. So what may be
out beside each other about one program must be of two kinds, unless either answer will do for both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from shrinkray_gpu.oracle.verdict import Verdict
from shrinkray_gpu.reduction.journal import CheckKind, Journal
from shrinkray_gpu.reduction.outcome import HearVerdict
from shrinkray_gpu.reduction.program import Program

StartCheck = Callable[[Program], "Pending"]


class Pending(Protocol):
    """A verdict that is being worked out: a `concurrent.futures.Future` will do."""

    def result(self) -> Verdict: ...


@dataclass(eq=False)
class Question:
    """A question, and its answer once that was taken."""

    program: Program
    pending: Pending | None = None
    recalled: Verdict | None = None
    verdict: Verdict | None = None
    kind: CheckKind | None = None
    """None: that of all the questions it is among."""

    @property
    def good(self) -> bool:
        return self.verdict is not None and self.verdict.faults

    @property
    def unclear(self) -> bool:
        return self.verdict is not None and not self.verdict.is_known


class Questions:
    """The questions of one kind, unless one is said to be of another. `tell` hears each answer when it is taken."""

    def __init__(self, kind: CheckKind, journal: Journal, tell: HearVerdict = lambda program, verdict: None) -> None:
        self.kind, self.journal, self.tell = kind, journal, tell
        self.count = 0
        """Asked in this course, those of a replay among them."""
        self.known: dict[str, Question] = {}
        """By key: the same code is not asked about twice."""

    def start(self, program: Program, ask: StartCheck, *, kind: CheckKind | None = None) -> Question:
        self.count += 1
        recalled = self.journal.recall_answer(kind or self.kind, program.key)
        return Question(program, None if recalled else ask(program), recalled, kind=kind)

    def about(self, program: Program, ask: StartCheck) -> Question:
        """Ask, unless an answer is out or known."""
        known = self.known.get(program.key)
        if known is None or known.unclear:
            known = self.known[program.key] = self.start(program, ask)
        return known

    def of_those(
        self, candidates: Sequence[Program], answers: Sequence[bool | None], ask: StartCheck, *, same: str
    ) -> Iterator[tuple[int, Question, Verdict]]:
        """Ask about all that were answered "yes" at once, except the program with the key `same`; then what is said of
        each, by its place."""
        doubtful = [
            (index, self.about(candidate, ask))
            for index, candidate in enumerate(candidates)
            if answers[index] and candidate.key != same
        ]
        for index, asked in doubtful:
            yield index, asked, self.finish(asked)

    def finish(self, asked: Question) -> Verdict:
        """The answer, waited for if need be."""
        if asked.verdict is None:
            if asked.recalled is not None:
                asked.verdict = asked.recalled
            else:
                assert asked.pending is not None
                asked.verdict = asked.pending.result()
                self.journal.record_answer(asked.kind or self.kind, asked.program.key, asked.verdict)
            self.tell(asked.program, asked.verdict)
        return asked.verdict
