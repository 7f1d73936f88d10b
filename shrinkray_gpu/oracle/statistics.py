"""The statistics of flaky faults: numbers in, decision out. Nothing here runs anything.

A flaky fault shows in some runs of one and the same program. Three questions come up, and each has its answer here:
how often does it show (`interval`), when has it been absent often enough (`clean_runs`), and does a candidate show it
as often as the original or less than half as often (`SequentialTest`). `share` says what error each of many decisions
may have so that all of them together keep within one budget.

Sources: C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
binomial", Biometrika 26 (1934); A. Wald, "Sequential tests of statistical hypotheses", Annals of Mathematical
Statistics 16 (1945); R. A. Fisher, "Statistical Methods for Research Workers", 5th edition (1934), section 21.02.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

CONFIDENCE = 0.95
USUAL = 64
"""Decisions of one kind that a reduction is expected to take; see `share`."""


@dataclass(frozen=True)
class Rate:
    """How often a program showed its fault."""

    sightings: int
    runs: int

    @property
    def estimate(self) -> float:
        return self.sightings / self.runs if self.runs else 0.0

    @cached_property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval."""
        return interval(self.sightings, self.runs) if self.runs else (0.0, 1.0)

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.sightings} of {self.runs} runs "
            f"({100 * self.estimate:.0f} %, 95 % interval {100 * low:.0f} to {100 * high:.0f} %)"
        )

    def __add__(self, other: Rate) -> Rate:
        return Rate(self.sightings + other.sightings, self.runs + other.runs)


def interval(sightings: int, runs: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The exact interval of a rate (Clopper and Pearson 1934): each end would be undercut by chance in no more than
    half of the error. It stays valid, on the safe side, where the runs went on until so many sightings were there."""
    _check(sightings, runs)
    return lower(sightings, runs, (1 - confidence) / 2), upper(sightings, runs, (1 - confidence) / 2)


def lower(sightings: int, runs: int, error: float) -> float:
    """The rate at which so many sightings or more come with probability `error`: the one-sided lower limit."""
    _check(sightings, runs)
    return 0.0 if sightings == 0 else _root(lambda rate: at_least(sightings, runs, rate) - error)


def upper(sightings: int, runs: int, error: float) -> float:
    """The rate at which so many sightings or fewer come with probability `error`: the one-sided upper limit."""
    _check(sightings, runs)
    if sightings == runs:
        return 1.0
    return _root(lambda rate: error - (1 - at_least(sightings + 1, runs, rate)))


def at_least(sightings: int, runs: int, rate: float) -> float:
    """The probability of so many sightings or more, exactly."""
    if sightings <= 0 or rate >= 1:
        return 1.0
    if rate <= 0:
        return 0.0
    yes, no = math.log(rate), math.log1p(-rate)
    # The shorter tail is summed, for the digits of a small probability.
    if sightings > runs * rate:
        return math.fsum(_term(k, runs, yes, no) for k in range(sightings, runs + 1))
    return 1.0 - math.fsum(_term(k, runs, yes, no) for k in range(sightings))


def clean_runs(rate: float, error: float) -> int:
    """Runs without a sighting that refute a rate: fewer would come clean with more than `error`, if it were true."""
    if not 0 < rate <= 1 or not 0 < error < 1:
        raise ValueError(f"a rate in (0, 1] and an error in (0, 1), not {rate} and {error}")
    if rate == 1:
        return 1
    return max(1, math.ceil(math.log(error) / math.log1p(-rate) - 1e-12))


def by_chance(before: Rate, after: Rate) -> float:
    """How likely `after` has so many sightings or more if both rates are one (Fisher's exact test, one-sided)."""
    total, sightings = before.runs + after.runs, before.sightings + after.sightings
    most = min(after.runs, sightings)
    ways = sum(
        math.comb(after.runs, k) * math.comb(before.runs, sightings - k) for k in range(after.sightings, most + 1)
    )
    return ways / math.comb(total, sightings)


def share(index: int, usual: int = USUAL) -> float:
    """The part of an error budget that decision `index` (from 1) may use. All parts together are 1, however many come.

    Parts of 1/(i(i+1)) would do, but they give the first decision half of all and the hundredth a ten-thousandth. These
    are nearly even for the first `usual` decisions: each costs about as many runs as an even split would.
    """
    if index < 1:
        raise ValueError(f"decisions are counted from 1, not {index}")
    return usual / ((index + usual - 1) * (index + usual))


@dataclass(frozen=True)
class SequentialTest:
    """Is the rate at least `goal`, or at most `floor`? As few runs as it takes (Wald's probability ratio test, 1945).

    A rate of `floor` or less is accepted with probability `accept_error` at most (Ville's inequality makes Wald's
    approximate bound a strict one). A rate of `goal` or more is refuted with probability `refute_error` at most: half
    of it at Wald's lower boundary, half at `most` runs, where a test that is still undecided ends in "refuted", the
    safe side. Rates between the two may go either way.
    """

    floor: float
    goal: float
    accept_error: float
    refute_error: float

    def __post_init__(self) -> None:
        if not 0 < self.floor < self.goal <= 1 or not 0 < self.accept_error < 1 or not 0 < self.refute_error < 1:
            raise ValueError(f"not a test: {self.floor} against {self.goal}")

    def decision(self, sightings: int, runs: int) -> bool | None:
        """True: accepted. False: refuted. None: ask on. To be asked after each run: the first answer counts."""
        found = sightings * self._yes + (runs - sightings) * self._no
        if found >= self._accept:
            return True
        if found <= self._refute or runs >= self.most:
            return False
        return None

    def soonest(self, sightings: int, runs: int) -> int:
        """Runs after which a decision is possible at the earliest. So many may be made at once, and none in vain."""
        found = sightings * self._yes + (runs - sightings) * self._no
        no = (self._refute - found) / self._no if self._no != -math.inf else 1
        return max(1, math.ceil(min((self._accept - found) / self._yes, self.most - runs, no) - 1e-9))

    @cached_property
    def most(self) -> int:
        """A rate of `goal` is still undecided (or refuted) after so many runs with half of `refute_error` at most.

        Chernoff's bound, by Markov's inequality on a power of the probability ratio, the power that serves best.
        """
        wrong, late = -math.log(self.accept_error), -math.log(self.refute_error / 2)

        def runs(power: float) -> float:
            yes = self.goal ** (1 - power) * self.floor**power
            no = (1 - self.goal) ** (1 - power) * (1 - self.floor) ** power
            return (late + power * wrong) / -math.log(yes + no)

        return math.ceil(min(runs(step / 20) for step in range(1, 20)))

    def operating(self, rate: float) -> OperatingPoint:
        """What the test does to a program of this rate, exactly: all courses, run by run."""
        undecided, accepted, refuted, expected = {0: 1.0}, 0.0, 0.0, 0.0
        for runs in range(1, self.most + 1):
            expected += math.fsum(undecided.values())
            following: dict[int, float] = {}
            for sightings, weight in undecided.items():
                for seen, chance in ((1, rate), (0, 1 - rate)):
                    decision = self.decision(sightings + seen, runs)
                    if decision is None:
                        following[sightings + seen] = following.get(sightings + seen, 0.0) + weight * chance
                    elif decision:
                        accepted += weight * chance
                    else:
                        refuted += weight * chance
            undecided = following
            if not undecided:
                break
        return OperatingPoint(accepted, refuted, expected)

    @cached_property
    def _yes(self) -> float:
        return math.log(self.goal / self.floor)

    @cached_property
    def _no(self) -> float:
        return math.log((1 - self.goal) / (1 - self.floor)) if self.goal < 1 else -math.inf

    @cached_property
    def _accept(self) -> float:
        return -math.log(self.accept_error)

    @cached_property
    def _refute(self) -> float:
        return math.log(self.refute_error / 2)


@dataclass(frozen=True)
class OperatingPoint:
    """A sequential test on programs of one rate."""

    accepted: float
    refuted: float
    runs: float
    """Expected number."""


def _term(sightings: int, runs: int, yes: float, no: float) -> float:
    ways = math.lgamma(runs + 1) - math.lgamma(sightings + 1) - math.lgamma(runs - sightings + 1)
    return math.exp(ways + sightings * yes + (runs - sightings) * no)


def _root(rising: Callable[[float], float]) -> float:
    """Where a function that rises over [0, 1] is zero."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if rising(middle) < 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _check(sightings: int, runs: int) -> None:
    if not 0 <= sightings <= runs or runs < 1:
        raise ValueError(f"{sightings} sightings in {runs} runs")
