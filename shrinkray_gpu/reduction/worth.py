"""Whether the next step of a search is worth ten seconds (`--fast`).

What the waiting passes may bring is judged by what each brought in its last turn. So every pass has one turn at least.
Time decides only when a search ends, never what it looks at: without `--fast` it goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from shrinkray_gpu.reduction.limits import NotWorthIt
from shrinkray_gpu.reduction.outcome import PassLike
from shrinkray_gpu.reduction.state import State

SECONDS = 10.0
PART = 0.01
"""What is worth so many seconds takes this part of the tokens."""


@dataclass(frozen=True)
class Turn:
    """What a pass took from the program in one turn, in tokens, and in which time."""

    tokens: int
    seconds: float


class Worth:
    """Asked before each turn and each wave of candidates. Does nothing where the course is not a `fast` one."""

    def __init__(self, passes: Sequence[PassLike], state: State, clock: Callable[[], float], *, fast: bool) -> None:
        self.names = {each.name for each in passes}
        self.state, self.clock, self.fast = state, clock, fast
        self.turns: dict[str, Turn] = {}
        """The last turn of each pass since a check beside the search took a step back."""
        self._waiting: Sequence[PassLike] | None = None
        """The passes behind the one at work, all round; None between two turns."""
        self._tokens, self._since, self._undone = 0, 0.0, 0

    @contextmanager
    def turn(self, each: PassLike, waiting: Sequence[PassLike]) -> Iterator[None]:
        """`each` has its turn, and those that wait come behind it. Raises NotWorthIt."""
        counts = self.state.counts
        if counts.undone != self._undone:  # the program is larger again: every pass may take something from it
            self.turns.clear()
            self._undone = counts.undone
        self._insist([each, *waiting])
        before, begun = self._left(), self.clock()
        self._waiting, self._tokens, self._since = waiting, before, begun
        try:
            yield
        finally:
            self._waiting = None
        self.turns[each.name] = Turn(before - self._left(), self.clock() - begun)

    def check(self) -> None:
        """Of the pass at work the rest is worth it as long as it took something lately. Raises NotWorthIt."""
        if self._waiting is None:
            return
        now, left = self.clock(), self._left()
        if left < self._tokens:
            self._tokens, self._since = left, now
        elif now - self._since >= SECONDS:
            self._insist(self._waiting)

    def _insist(self, waiting: Sequence[PassLike]) -> None:
        if self.fast and not self._promise(waiting):
            taken = sum(turn.tokens for turn in self.turns.values())
            seconds = sum(turn.seconds for turn in self.turns.values())
            told = f"the last turns of all passes took {taken} tokens in {seconds:.0f} s"
            raise NotWorthIt(f"{told}, and the last look for something smaller was left out")

    def _promise(self, waiting: Sequence[PassLike]) -> bool:
        """Whether some of them, begun with the first, will take enough if they do as well as in their last turn. What
        one without any may take, nobody knows."""
        if self.names - self.turns.keys():
            return True
        tokens, seconds = 0, 0.0
        for each in waiting:
            turn = self.turns[each.name]
            tokens, seconds = tokens + turn.tokens, seconds + turn.seconds
            if tokens > 0 and tokens * SECONDS >= PART * self._left() * seconds:
                return True
        return False

    def _left(self) -> int:
        return self.state.best.size.tokens
