"""Key `turned`: how often each knob that the request turns changed something."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator

from .candidate import WatchedCandidate


@contextmanager
def watch(candidate: WatchedCandidate) -> Iterator[None]:
    """Turn the knobs, and turn them back."""
    if candidate.log is None or not candidate.request["knobs"]:
        candidate.report["turned"] = {}
        yield
        return
    from ..knobs import knobs

    turned = knobs.TurnedKnobs(candidate.request["knobs"], candidate.log)
    try:
        yield
    finally:
        candidate.report["turned"] = turned.end()
