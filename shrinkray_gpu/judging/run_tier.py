"""A tier that really runs a candidate: once, or as often as chance demands; then come the checks that drifts taught."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from shrinkray_gpu.judging.candidate import Candidate
from shrinkray_gpu.judging.repetition import FlakyTest, RunBatch
from shrinkray_gpu.judging.tally import Tally
from shrinkray_gpu.oracle import Oracle
from shrinkray_gpu.oracle.verdict import Verdict
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Run

Rule = Callable[[FlakyTest, RunBatch], Verdict]
"""When enough runs were seen, of a flaky fault."""


class Repeater:
    """Runs candidates of a flaky fault in threads of its own, `lanes` at a time, or a verdict would wait for itself."""

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        self._deciding = 0
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(lanes, thread_name_prefix="again")

    def verdict(self, decide: Callable[[RunBatch], Verdict], once: Callable[[], Verdict]) -> Verdict:
        """What `decide` makes of batches of runs, each of up to so many at once as there are lanes for each of the
        candidates that are being decided on."""

        def batch(useful: int) -> Sequence[Verdict]:
            count = min(useful, -(-self._lanes // max(1, self._deciding)))
            return [once()] if count == 1 else list(self._threads.map(lambda _: once(), range(count)))

        with self._lock:
            self._deciding += 1
        try:
            return decide(batch)
        finally:
            with self._lock:
                self._deciding -= 1

    def close(self) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)


class RunTier:
    """Judges a candidate by runs of it in `pool`."""

    def __init__(self, oracle: Oracle, pool: Pool, repeater: Repeater, tally: Tally) -> None:
        self.oracle, self.pool, self.repeater, self.tally = oracle, pool, repeater, tally

    def run(self, candidate: Candidate, fresh: bool) -> tuple[Verdict, Run | None]:
        """The verdict on one run of the candidate, and that run; none where the oracle made one of its own."""
        raise NotImplementedError

    def settle(self, candidate: Candidate) -> Verdict:
        """The verdict by which the search goes on."""
        last = candidate.policy.insisting
        return self.verdict(candidate, last, lambda flaky, batch: flaky.decide(batch, last=last, key=candidate.text))

    def confirm(self, candidate: Candidate) -> Verdict:
        """The verdict of fresh contexts; of a flaky fault, whether the rate is right."""
        return self.verdict(candidate, True, FlakyTest.confirm)

    def verdict(self, candidate: Candidate, fresh: bool, rule: Rule) -> Verdict:
        """The verdict of one run, or of as many as the rule demands of a flaky fault; of a "yes", what the checks say
        of the first run that shows the fault."""
        flaky = candidate.policy.repeats
        showing: list[Run] = []

        def once() -> Verdict:
            verdict, run = self.run(candidate, fresh)
            if run is not None and verdict.faults:
                showing.append(run)
            return verdict

        verdict = once() if flaky is None else self.repeater.verdict(lambda batch: rule(flaky, batch), once)
        if verdict.faults and showing:
            return candidate.policy.tightening.refute(candidate.text, showing[0]) or verdict
        return verdict
