"""The verdicts of a course, and those that a killed course left for its replay."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import NamedTuple

from shrinkray_gpu.oracle.verdict import Verdict


class _ReplayedVerdict(NamedTuple):
    """A verdict that a replay will come to."""

    verdict: Verdict
    final: bool
    drifts: int
    """How often the test had been tightened when it was given."""


class VerdictCache:
    """By the key of the candidate."""

    def __init__(self) -> None:
        self._known: dict[str, Verdict] = {}
        self._ahead: defaultdict[str, deque[_ReplayedVerdict]] = defaultdict(deque)
        self._drifts = self._drifts_ahead = 0

    # What a killed course left

    def expect(self, key: str, verdict: Verdict, *, final: bool) -> None:
        """A killed course was given this verdict, after all that it was given before."""
        self._ahead[key].append(_ReplayedVerdict(verdict, final, self._drifts_ahead))

    def expect_drift(self) -> None:
        """A killed course tightened its test here."""
        self._drifts_ahead += 1

    def expect_no_drift(self) -> None:
        """Another course begins, which will meet none of the drifts so far."""
        self._drifts_ahead = 0
        for key, answers in self._ahead.items():
            self._ahead[key] = deque(answer._replace(drifts=0) for answer in answers)

    # The course

    def recall(self, key: str, *, insist: bool = False) -> Verdict | None:
        """What is known of a candidate; if `insist`, a provisional "no" does not count.

        In a replay the killed course's answers come in the order in which they were given then.
        """
        known = self._known.get(key)
        if known is not None and not (insist and known.provisional):
            return known
        ahead = self._ahead.get(key)
        while ahead:
            verdict, final, drifts = ahead.popleft()
            if verdict.faults and drifts < self._drifts:
                continue  # said by a test that was looser than today's
            if final:
                self._known[key] = verdict
            return verdict
        return None

    def knows(self, key: str) -> bool:
        """Whether `recall` may have an answer. Takes none away from a replay."""
        return key in self._known or bool(self._ahead.get(key))

    def keep(self, key: str, verdict: Verdict) -> None:
        """This verdict is final."""
        self._known[key] = verdict

    def tighten(self) -> bool:
        """The everyday test is tighter from now on: what it said "yes" to counts no more. A "no" stays. Returns whether
        the killed course had come to this too."""
        self._known = {key: verdict for key, verdict in self._known.items() if not verdict.faults}
        self._drifts += 1
        replayed = self._drifts_ahead > 0
        self._drifts_ahead -= replayed
        return replayed
