"""From runs of one candidate to its verdict: one run, or as many as chance demands; then what drifts taught."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from shrinkray_gpu.judging.repetition import FlakyTest, RunBatch
from shrinkray_gpu.judging.tightening import Tightening
from shrinkray_gpu.oracle.verdict import Verdict
from shrinkray_gpu.runner.run import Run

Once = Callable[[], tuple[Verdict, Run | None]]
"""One run of the candidate, and its verdict; no run where the oracle made one of its own."""
Rule = Callable[[FlakyTest, RunBatch], Verdict]
"""When enough runs were seen, of a flaky fault."""


class Decider:
    """Used by all tiers that really run a candidate. `lanes`: runs that may go on at a time."""

    def __init__(self, repeats: FlakyTest | None, lanes: int) -> None:
        self.repeats, self._lanes = repeats, lanes
        self._tightening = Tightening()
        self._insisting = False
        self._deciding = 0
        self._lock = threading.Lock()
        # Threads of its own, or a decision would wait for itself.
        self._again = ThreadPoolExecutor(lanes, thread_name_prefix="again")

    @property
    def insisting(self) -> bool:
        """Whether the last round has come, in which a "no" stands."""
        return self._insisting

    def insist(self, on: bool) -> None:
        self._insisting = on

    @property
    def tightening(self) -> Tightening:
        return self._tightening

    def tighten(self, more: Tightening) -> None:
        with self._lock:
            self._tightening += more

    def everyday(self, text: str, once: Once) -> Verdict:
        """The verdict by which the search goes on."""
        return self.settled(text, once, lambda repeats, ask: repeats.decide(ask, last=self._insisting, key=text))

    def settled(self, text: str, once: Once, rule: Rule) -> Verdict:
        """The verdict of one run, or of as many as the rule demands; and then what the checks say of a "yes"."""
        showing: list[Run] = []

        def verdict_of_one(_: int = 0) -> Verdict:
            verdict, run = once()
            if run is not None and verdict.faults:
                showing.append(run)
            return verdict

        if self.repeats is None:
            verdict = verdict_of_one()
        else:
            with self._lock:
                self._deciding += 1
            try:
                verdict = rule(self.repeats, self._several(verdict_of_one))
            finally:
                with self._lock:
                    self._deciding -= 1
        if verdict.faults and showing:
            return self._tightening.refute(text, showing[0]) or verdict
        return verdict

    def _several(self, once: Callable[[int], Verdict]) -> RunBatch:
        """Up to so many runs at once as there are lanes for each of the candidates that are being decided on."""

        def ask(useful: int) -> Sequence[Verdict]:
            count = min(useful, -(-self._lanes // max(1, self._deciding)))
            return [once(0)] if count == 1 else list(self._again.map(once, range(count)))

        return ask

    def close(self) -> None:
        self._again.shutdown(wait=True, cancel_futures=True)
