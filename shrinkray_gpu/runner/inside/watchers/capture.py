"""Key `captured`: the launches that may be the one that faults, written down in full."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import Iterator

from .candidate import WatchedCandidate


def is_asked(candidate: WatchedCandidate) -> bool:
    return candidate.log is not None and bool(candidate.request["capture"])


@contextmanager
def watch(candidate: WatchedCandidate) -> Iterator[None]:
    """Describe each launch before it runs; the tool reads the black box where this process does not live to tell."""
    if not is_asked(candidate):
        candidate.report["captured"] = None
        yield
        return
    from ..capture import blackbox, capture

    place = os.path.join(candidate.request["temporary"], blackbox.FOLDER)
    camera = capture.begin(candidate.log, candidate.request["capture"], place)
    try:
        yield
    finally:
        candidate.report["captured"] = camera.end()
