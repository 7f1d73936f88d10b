"""How a course goes: what chance, patience and the user have to say, as one frozen value."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Course:
    """The same seed and width give the same course, whatever the timing."""

    seed: int = 0
    width: int = 8
    """Candidates in one call of the interestingness test, at most."""
    eager: float = 1.0
    """What a faulting try costs against a passing one."""
    flaky: bool = False
    """A "no" is never final then, unless it is a certain one."""
    keep: Sequence[str] = ()
    """Definitions that stay."""
    skip: Collection[str] = ()
    """Names of passes that are left out."""
    stop: Callable[[], bool] = lambda: False
    """Whether somebody asked for the end."""
    deadline: float | None = None
    """In terms of `clock`. It ends the search with the best so far, as `stop` and Ctrl-C in the test do."""
    fast: bool = False
    """Whether the search ends where the next step is not worth ten seconds."""
    clock: Callable[[], float] = time.monotonic
