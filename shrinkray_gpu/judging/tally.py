"""How many tries there were, by the tier that settled them, and what became of those that told nothing."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping

DRY, CREDIT, LANE, COLD, SCRIPT = "dry run", "credit", "lane", "cold", "script"


class Tally:
    """Counts of one reduction, kept by all tiers. Used by many threads. `tries`: those made before there was a test."""

    def __init__(self, tries: Mapping[str, int] | None = None) -> None:
        self.tries = Counter(tries or {})
        """By the tier that settled them."""
        self.lane_seconds = 0.0
        self.host_errors = 0
        """Tries in lanes that an error of the host code ended, which a dry run might have told."""
        self.mute: Counter[str] = Counter()
        """Dry runs that told nothing, by what became of them."""
        self.ahead = self.foreseen = 0
        """Tries that were begun before they were asked for, and how many of these were asked for in the end."""
        self._lock = threading.Lock()

    def count(self, tier: str, seconds: float = 0.0) -> None:
        """One try more, and the seconds that it held a lane."""
        with self._lock:
            self.tries[tier] += 1
            self.lane_seconds += seconds

    def count_host_error(self) -> None:
        with self._lock:
            self.host_errors += 1

    def count_mute(self, why: str) -> None:
        """One dry run more that told nothing."""
        with self._lock:
            self.mute[why] += 1

    def count_begun_ahead(self) -> None:
        with self._lock:
            self.ahead += 1

    def count_foreseen(self) -> None:
        """One try more was asked for that had begun before."""
        with self._lock:
            self.foreseen += 1
