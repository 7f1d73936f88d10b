"""Where one reduction stands: the program at hand, the best so far, and what it took to come here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from shrinkray_gpu.reduction.outcome import ProgressEvent, SearchCost
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.spending import PassCost


@dataclass(eq=False)
class SearchCounts:
    """What a course took so far. Whoever does the work counts it here."""

    tries: int = 0
    """Candidates handed to the interestingness test."""
    considered: int = 0
    """Candidates that needed a verdict, new or recalled: the same number in a replay."""
    accepted: int = 0
    credited: int = 0
    undone: int = 0
    """How often the course went back, for whatever reason."""
    free: Counter[str] = field(default_factory=Counter)
    """Candidates settled without a run, by reason."""
    on_credit: set[str] = field(default_factory=set)
    """Keys of what faults though no lane ran it."""
    passes: dict[str, PassCost] = field(default_factory=dict)
    bill: PassCost = field(default_factory=PassCost)
    """Of the pass that is running."""

    @contextmanager
    def billed(self, name: str, state: State, clock: Callable[[], float]) -> Iterator[None]:
        """A pass runs: its bill grows by what it takes, if it runs to its end."""
        bill = self.bill = self.passes.setdefault(name, PassCost())
        begun, tries, free, accepted = clock(), self.tries, self.free.total(), self.accepted
        tokens = state.best.size.tokens
        yield
        bill.seconds += clock() - begun
        bill.tries += self.tries - tries
        bill.free += self.free.total() - free
        bill.accepted += self.accepted - accepted
        bill.tokens += tokens - state.best.size.tokens

    def cost(self, rounds: int) -> SearchCost:
        return SearchCost(self.tries, dict(self.free), self.accepted, self.credited, rounds, self.passes)


@dataclass(eq=False)
class State:
    """Changed by whoever does the work. `current` is what the passes work on; outside of trials it is also the best."""

    current: Program
    best: Program
    progress: Callable[[ProgressEvent], None]
    round: int = 0
    pass_name: str = ""
    thorough: bool = False
    """Whether the last round has come: nothing is put off then."""
    put_off: bool = False
    """Whether this round left out an edit or believed a provisional "no"."""
    budget: int | None = None
    """Candidates considered when the trial under way must end; None where there is none."""
    counts: SearchCounts = field(default_factory=SearchCounts)

    def smaller(self, candidate: Program) -> bool:
        """Than the program at hand; in a trial, by tokens."""
        if self.budget is None:
            return candidate.size < self.current.size
        return candidate.size < self.current.size and candidate.size.tokens < self.current.size.tokens

    @contextmanager
    def trial(self, tries: int) -> Iterator[None]:
        """A grown program is on trial: the budget is so many candidates, and the round around it notices nothing."""
        before, name, thorough, put_off = self.current, self.pass_name, self.thorough, self.put_off
        self.thorough, self.budget = False, self.counts.considered + tries
        try:
            yield
        finally:
            if self.best is not self.current:
                self.current = before
            self.thorough, self.put_off, self.pass_name, self.budget = thorough, put_off, name, None

    def tell(self, kind: Any, text: str = "") -> None:
        counts = self.counts
        self.progress(
            ProgressEvent(kind, self.current, self.round, self.pass_name, counts.tries, dict(counts.free), text)
        )
