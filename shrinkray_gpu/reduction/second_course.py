"""A second course from the start, once the first has come to its end: with what was learnt, and in another order.

A course ends where no single step leads on, and which end that is hangs on the order of the steps: with `tl.zeros` in
the place of one operand of a product there is no way back to using the other one twice. So the passes go once more over
the start: those that took most for a try go first, fine ones among them, and the chances of the edits are those of the
first course. Verdicts are remembered, so that it costs about half of the tries; what it ends with counts only if it has
fewer tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.outcome import PassLike
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.spending import PassCost
from shrinkray_gpu.reduction.state import State

SHARE = 0.75
"""Of the candidates that the first course considered, as many as the second may."""
BEHIND = ((0.05, 4.0), (0.1, 3.0), (0.2, 2.0), (0.4, 1.35))
"""After such a share of them it is given up if it has more than so many times the first course's tokens. Of the eight
programs that fail without a GPU, and the TMA case, five stood higher at 0.4 and ended level with the first course or
above it; four of these stood higher at each earlier share too, and no other did."""
LEAST = 25
"""Candidates that tell nothing yet, however few the first course had."""
IN_TIME = 0.9
"""Of the time that is left until the deadline; the layout and the last checks want the rest."""


@dataclass(frozen=True)
class EarlyPass:
    """A pass that joins in from the beginning, whatever its stage was."""

    of: PassLike
    stage: int = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.of, name)


class SecondCourseJournal:
    """The journal for a second course: it shares all verdicts, but has no say in what the best is."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    @classmethod
    def of(cls, journal: Journal) -> Journal:
        """For the engine it is one like any other."""
        return cast(Journal, cls(journal))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    def start(self, original: Program) -> Program:
        return original

    def hand_edit(self, original: Program) -> None:
        return None

    def best(self, program: Program, **details: Any) -> None:
        pass

    def roll_back(self, program: Program, **details: Any) -> None:
        pass

    def end(self) -> None:
        pass


def is_hopeless(state: State, considered: int, tokens: int) -> bool:
    """Whether the second course has had its share, or is too far behind: the first ended with `tokens` tokens after as
    many candidates as `considered`."""
    share = state.counts.considered / max(1, considered)
    factor = min((most for since, most in BEHIND if share >= since), default=float("inf"))
    behind = state.counts.considered >= LEAST and state.best.size.tokens > factor * tokens
    return share >= SHARE or behind


def deadline_of(deadline: float | None, now: float) -> float | None:
    return None if deadline is None else now + IN_TIME * (deadline - now)


def by_gain(passes: Sequence[PassLike], costs: Mapping[str, PassCost]) -> list[EarlyPass]:
    """The passes, those first that took most tokens for a try in the first course."""

    def gain(each: PassLike) -> float:
        bill = costs.get(each.name, PassCost())
        return bill.tokens / (1 + bill.tries)

    return [EarlyPass(each) for each in sorted(passes, key=gain, reverse=True)]
