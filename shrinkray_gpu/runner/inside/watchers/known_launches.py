"""No key: launches of Triton's interpreter that a run before made are not made again; see `compare.known_launches`."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator

from .candidate import WatchedCandidate


@contextmanager
def watch(candidate: WatchedCandidate) -> Iterator[None]:
    """Know them by the files of the folder that the request names."""
    if not candidate.request["known"]:
        yield
        return
    from ..compare import known_launches

    known = known_launches.KnownLaunches(candidate.request["known"])
    candidate.knows(known)
    try:
        yield
    finally:
        known.end()
