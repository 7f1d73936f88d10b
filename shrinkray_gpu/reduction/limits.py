"""What ends a search before it is done: a person, the deadline, and of a trial its budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal


class SearchStopped(Exception):
    """The search ends here, with the best so far."""

    def __init__(self, why: Literal["stopped", "out of time"]) -> None:
        self.why = why


class NotWorthIt(Exception):
    """Nothing that the search may try next is worth its time, and why."""


class TrialTriesSpent(Exception):
    """A trial has used up its tries."""


class Ending:
    """Asked before anything that takes long. `deadline` is in terms of `clock`; `worth` is asked as well."""

    def __init__(
        self,
        stop: Callable[[], bool],
        deadline: float | None,
        clock: Callable[[], float],
        worth: Callable[[], None],
    ) -> None:
        self.stop, self.deadline, self.clock, self.worth = stop, deadline, clock, worth

    def check(self) -> None:
        """Raises SearchStopped or NotWorthIt."""
        if self.stop():
            raise SearchStopped("stopped")
        if self.deadline is not None and self.clock() >= self.deadline:
            raise SearchStopped("out of time")
        self.worth()
