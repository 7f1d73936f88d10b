"""No key: a thread that says at the time limit, on the link, what the process hangs in."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator

from .candidate import WatchedCandidate


@contextmanager
def watch(candidate: WatchedCandidate) -> Iterator[None]:
    """Listen on the link while the candidate runs: nobody else uses it then."""
    if candidate.log is None or not candidate.request["tell"]:
        yield
        return
    from ..process import watchdog

    asked = candidate.request
    guard = watchdog.Watchdog(candidate.link, candidate.log, asked["limit"], asked["number"])
    candidate.when_ended(guard.script_ended)
    try:
        yield
    finally:
        guard.end()
