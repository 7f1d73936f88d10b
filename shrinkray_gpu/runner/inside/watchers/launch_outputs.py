"""Keys `differences` and `incomparable`: where this run's launches did something else than another run's."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator

from .candidate import WatchedCandidate


@contextmanager
def watch(candidate: WatchedCandidate) -> Iterator[None]:
    """Record the outputs of all launches, and compare them with a recording."""
    request = candidate.request
    if candidate.log is None or not (request["observe"] or request["against"]):
        candidate.report.update(differences=[], incomparable="")
        yield
        return
    from ..compare import launch_outputs

    observer = launch_outputs.Observer(request["observe"], request["against"], request["knobs"])
    try:
        yield
    finally:
        candidate.report.update(observer.end())
