"""Where one reduction stands: the program at hand, the best so far, and what it took to come here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from shrinkray_gpu.reduction.outcome import Event
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.spending import Spent


@dataclass(eq=False)
class State:
    """Changed by whoever does the work. `current` is what the passes work on; outside of trials it is also the best."""

    current: Program
    best: Program
    progress: Callable[[Event], None]
    round: int = 0
    pass_name: str = ""
    thorough: bool = False
    """Whether the last round has come: nothing is put off then."""
    put_off: bool = False
    """Whether this round left out an edit or believed a provisional "no"."""
    budget: int | None = None
    """Candidates considered when the trial under way must end; None where there is none."""
    tries: int = 0
    considered: int = 0
    """Candidates that needed a verdict, new or recalled: the same number in a replay."""
    accepted: int = 0
    credited: int = 0
    undone: int = 0
    """How often the course went back, for whatever reason."""
    free: Counter[str] = field(default_factory=Counter)
    on_credit: set[str] = field(default_factory=set)
    """Keys of what faults though no lane ran it."""
    spent: dict[str, Spent] = field(default_factory=dict)
    bill: Spent = field(default_factory=Spent)
    """Of the pass that is running."""

    def smaller(self, candidate: Program) -> bool:
        """Than the program at hand; in a trial, by tokens."""
        if self.budget is None:
            return candidate.size < self.current.size
        return candidate.size < self.current.size and candidate.size.tokens < self.current.size.tokens

    def tell(self, kind: Any, text: str = "") -> None:
        self.progress(Event(kind, self.current, self.round, self.pass_name, self.tries, dict(self.free), text))
