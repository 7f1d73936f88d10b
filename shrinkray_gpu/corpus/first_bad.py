"""At which version of a history a fault began, though each run tells it only by chance. Nothing here runs anything.

A history is versions 0 to `last`: 0 is said to be good, `last` to be bad. A candidate is the first bad version, and 0
as a candidate means that the good end is bad, too. A run of a bad version shows the fault at an unknown rate, which is
one for the whole history. A run that shows something else is UNKNOWN and says nothing of where the fault began. A
version that cannot be built has no answer at all.

The search is probabilistic bisection: M. Horstein, "Sequential transmission using noiseless feedback", IEEE
Transactions on Information Theory 9 (1963), and, for coins whose bias is not known, R. M. Karp and R. Kleinberg, "Noisy
binary search and its applications", SODA 2007. A posterior over all candidates is kept, and the next run is the one
from which it learns most: B. Jedynak, P. I. Frazier and R. Sznitman, "Twenty questions with noise: Bayes optimal
policies for entropy loss", Journal of Applied Probability 49 (2012). Here that is divided by what the run costs. The
unknown rate is integrated out. A Beta prior allows that in closed form, beside a part for a fault that always shows.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from shrinkray_gpu.oracle.verdict import Answer

SIGHTINGS = 3
"""Of the fault at the bad end, before the search begins: from them it knows the rate roughly."""
SOMETIMES = 4
"""The same where the bad end passed, too: a rate has to be known better than that there is none."""
GOOD_END_IS_BAD = 0.2
"""Prior probability that the user errs about the good end."""
DOUBT = 0.1
"""Share of the errors that the confidence allows which may come from a good end that is bad."""
CONFIRMED = 0.5
"""Share of the errors that the confidence allows which may come from luck at the version before the one named."""
ALWAYS = 0.4
"""Prior probability that the fault shows in every run of a bad version. More would save runs where it does, and name
wrong versions where it only seems to."""
SURE = 0.9
"""The same of a fault that most likely does not come by chance."""
SHAPE = 1.0
"""Of the Beta(SHAPE, 1) prior of the rate otherwise: each is as likely as any other."""
MISTAKE = 1e-6
"""How often a run of a good version is taken for the fault."""
SILENT = 5
"""Runs of a version that tell nothing, without one that does: it is asked no more."""
NOTHING = 1e-9
"""Bits of a run that is not worth it."""
_NEGLIGIBLE = 1e-7
"""Posterior of a stretch in which no version is worth a look."""


@dataclass(frozen=True)
class Suspects:
    """Versions `first` to `last` of which one is the first bad one. Nothing that can be run tells them apart."""

    first: int
    last: int
    probability: float


@dataclass(frozen=True)
class _Stretch:
    """Candidates between two versions that were asked: all that was seen speaks for each of them alike."""

    first: int
    last: int
    each: float
    """Posterior of one candidate."""
    rate: float
    """Expected rate of the fault, if the first bad version is in here."""

    @property
    def mass(self) -> float:
        return self.each * (self.last - self.first + 1)


class FirstBad:
    """What is known of a history after the runs so far. `last` is the index of the bad end, from 1.

    `always` is the prior probability that the fault shows in every run of a bad version: SURE where the compiled code
    decides. `sightings` of it at the bad end are asked for before the search begins.
    """

    def __init__(
        self, last: int, *, confidence: float = 0.95, always: float = ALWAYS, sightings: int = SIGHTINGS
    ) -> None:
        if last < 1 or not 0.5 <= confidence < 1:
            raise ValueError(f"a history of two versions or more and a confidence of 0.5 or more, not {last + 1} and "
                             f"{confidence}")  # fmt: skip
        self.last, self.confidence = last, confidence
        self.sightings, self._always = sightings, always
        self._faults: dict[int, int] = {}
        self._passes: dict[int, int] = {}
        self._silent: dict[int, int] = {}
        self._asked: list[int] = []
        """Versions with an answer, in order."""
        self._without: list[int] = []
        """Versions that have no answer, in order."""
        self._known: list[_Stretch] | None = None

    # What was seen

    def add(self, version: int, answer: Answer) -> None:
        """One run of this version."""
        if answer is Answer.UNKNOWN:
            self._silent[version] = self._silent.get(version, 0) + 1
            if self._silent[version] >= SILENT and version not in self._faults and version not in self._passes:
                self.cannot(version)
            return
        if version not in self._faults and version not in self._passes:
            self._asked.insert(bisect_left(self._asked, version), version)
        counts = self._faults if answer is Answer.FAULTS else self._passes
        counts[version] = counts.get(version, 0) + 1
        self._known = None

    def cannot(self, version: int) -> None:
        """This version cannot be built, or never tells: it is not asked again."""
        at = bisect_left(self._without, version)
        if self._without[at : at + 1] != [version]:
            self._without.insert(at, version)

    def runs(self, version: int) -> tuple[int, int, int]:
        """How many runs of a version showed the fault, passed, and told nothing."""
        return self._faults.get(version, 0), self._passes.get(version, 0), self._silent.get(version, 0)

    def can_answer(self, version: int) -> bool:
        at = bisect_left(self._without, version)
        return self._without[at : at + 1] != [version]

    @property
    def begins(self) -> bool:
        """Whether the fault was seen too rarely at the bad end for the search to begin."""
        faults, passes, _ = self.runs(self.last)
        return faults < (max(self.sightings, SOMETIMES) if passes and self.sightings > 1 else self.sightings)

    # What follows from it

    def probabilities(self) -> list[float]:
        """The posterior of each candidate, 0 to `last`."""
        return [stretch.each for stretch in self._stretches() for _ in range(stretch.first, stretch.last + 1)]

    def suspects(self) -> list[Suspects]:
        """The smallest sets that runs can tell apart, the likeliest first."""
        found, first, sum_ = [], 0, 0.0
        for version, probability in enumerate(self.probabilities()):
            sum_ += probability
            if version == self.last or self.can_answer(version):
                found.append(Suspects(first, version, sum_))
                first, sum_ = version + 1, 0.0
        return sorted(found, key=lambda each: (-each.probability, each.first))

    def found(self) -> Suspects | None:
        """The likeliest set, if its posterior is what was asked for, its good neighbour is confirmed, and the good end
        is hardly bad itself."""
        best = self._likely()
        if best is None or best.first == 0:
            return best
        return None if self.good_end_is_doubted or not self._is_confirmed(best) else best

    @property
    def good_end_is_doubted(self) -> bool:
        """Whether the good end passed too rarely to be good. One that a run would tell nothing of is believed."""
        return self.can_answer(0) and self._stretches()[0].mass >= DOUBT * (1 - self.confidence)

    def good_neighbour(self, suspects: Suspects) -> int:
        """The last version before the set that can answer: if it is bad, the set is innocent."""
        return next((version for version in range(suspects.first - 1, 0, -1) if self.can_answer(version)), 0)

    def _is_confirmed(self, suspects: Suspects) -> bool:
        """Whether a bad version would hardly pass as often as the good neighbour did. All that may be wrong with a name
        is luck at this version, for a fault that was seen is no mistake. So it is judged by itself: the posterior is
        right on average only, over all rates, and the prior of a fault that always shows has no say here."""
        neighbour = self.good_neighbour(suspects)
        if not self.can_answer(neighbour):
            return True
        passes = self.runs(neighbour)[1]
        shown = sum(count for version, count in self._faults.items() if version >= suspects.last)
        luck = sum(count for version, count in self._passes.items() if version >= suspects.last)
        chance = _sometimes(shown, luck + passes) - _sometimes(shown, luck)
        return chance <= math.log(CONFIRMED * (1 - self.confidence))

    def _likely(self) -> Suspects | None:
        if all(stretch.mass < self.confidence for stretch in self._stretches()):
            return None  # no set is larger than a stretch, whose ends can answer
        best = self.suspects()[0]
        return best if best.probability >= self.confidence else None

    def range_left(self) -> Suspects:
        """The shortest range of candidates that has the confidence asked for together."""
        sums = [0.0]
        for probability in self.probabilities():
            sums.append(sums[-1] + probability)
        best = Suspects(0, self.last, 1.0)
        end = 0
        for first in range(self.last + 1):
            while end <= self.last and sums[end] - sums[first] < self.confidence:
                end += 1
            if sums[end] - sums[first] >= self.confidence and end - 1 - first < best.last - best.first:
                best = Suspects(first, end - 1, sums[end] - sums[first])
        return best

    def choice(self, first_run: float = 1.0) -> int | None:
        """The version to run next; None where it is found, or no run would tell more.

        The bad end comes first, until its fault was seen a few times, and then the good end once. Once the rest is
        found, its good neighbour is asked until it and the good end are believed: what passes there speaks for all
        versions before it, too. `first_run` is what the first run of a version costs, in
        runs: it is built or installed for that.
        """
        if self.begins:
            return self.last if self.can_answer(self.last) else None
        if not sum(self.runs(0)) and self.can_answer(0):
            return 0
        if (likely := self._likely()) is not None:
            return self.good_neighbour(likely) if self.found() is None else None
        best, chosen = 0.0, None
        for version, bits in self._information():
            runs, silent = sum(self.runs(version)), self._silent.get(version, 0)
            gain = bits * (runs - silent + 1) / (runs + 1) / (1 if runs else first_run)
            if gain > best and bits > NOTHING:
                best, chosen = gain, version
        return chosen

    def _information(self) -> Iterator[tuple[int, float]]:
        """Bits about the first bad version that one run of a version tells, of all that may be the best choice.

        Within a stretch it rises and falls again, in the share of the candidates that the version parts from the rest.
        So the best is next to where it would be even; the ends of a stretch were run before, and may cost less.
        """
        silent = _entropy(MISTAKE)
        shown = noise = mass = 0.0  # of all stretches before this one
        for stretch in self._stretches():
            if stretch.mass < _NEGLIGIBLE:
                continue
            chance, gain = _entropy(stretch.rate), stretch.rate - MISTAKE
            slope = max(-50.0, min(50.0, (chance - silent) / gain))
            even = (1 / (1 + 2**slope) - shown - (1 - mass) * MISTAKE) / gain
            share = min(max(0.0, even / stretch.each), stretch.last - stretch.first + 1)
            for version in self._near(stretch, stretch.first + math.floor(share) - 1):
                part = stretch.each * (version - stretch.first + 1)
                rest = 1 - mass - part
                sees = shown + part * stretch.rate + rest * MISTAKE
                yield version, _entropy(sees) - noise - part * chance - rest * silent
            shown += stretch.mass * stretch.rate
            noise += stretch.mass * chance
            mass += stretch.mass

    def _near(self, stretch: _Stretch, version: int) -> set[int]:
        """The nearest versions of a stretch on both sides that can answer, and its end."""
        below = (each for each in range(min(version, stretch.last), stretch.first - 1, -1) if self.can_answer(each))
        above = (each for each in range(max(version + 1, stretch.first), stretch.last) if self.can_answer(each))
        end = [stretch.last] if self.can_answer(stretch.last) else []
        return {*islice(below, 1), *islice(above, 1), *end}

    def _stretches(self) -> list[_Stretch]:
        if self._known is None:
            self._known = self._weighed()
        return self._known

    def _weighed(self) -> list[_Stretch]:
        """If candidate c is right, all faults of versions before c are mistakes, and all passes from c on are luck."""
        edges = sorted({0, self.last, *self._asked})
        early, all_faults = 0, sum(self._faults.values())
        passes = sum(self._passes.values())
        rows, first = [], 0
        for edge in edges:
            prior = GOOD_END_IS_BAD if edge == 0 else (1 - GOOD_END_IS_BAD) / self.last
            weight, rate = _evidence(all_faults - early, passes, self._always)
            weight += math.log(prior) + early * math.log(MISTAKE)
            rows.append((first, edge, weight, rate))
            first = edge + 1
            early += self._faults.get(edge, 0)
            passes -= self._passes.get(edge, 0)
        most = max(weight for *_, weight, _ in rows)
        sizes = [(first, last, math.exp(weight - most), rate) for first, last, weight, rate in rows]
        total = sum(each * (last - first + 1) for first, last, each, _ in sizes)
        return [_Stretch(first, last, each / total, rate) for first, last, each, rate in sizes]


def _evidence(faults: int, passes: int, always: float) -> tuple[float, float]:
    """How likely such runs of bad versions are (its logarithm), and the rate that is to be expected after them."""
    sometimes = _sometimes(faults, passes) + math.log(1 - always)
    rate = (faults + SHAPE) / (faults + passes + SHAPE + 1)
    if passes:
        return sometimes, rate
    both = math.log(always) + math.log1p(math.exp(sometimes) / always)
    return both, 1 - math.exp(sometimes - both) * (1 - rate)


def _sometimes(faults: int, passes: int) -> float:
    """The logarithm of how likely such runs of bad versions are, where the rate is drawn from the Beta prior."""
    either = math.lgamma(faults + passes + SHAPE + 1)
    return math.log(SHAPE) + math.lgamma(faults + SHAPE) + math.lgamma(passes + 1) - either


def _entropy(chance: float) -> float:
    """In bits, of an event of this probability."""
    if chance <= 0 or chance >= 1:
        return 0.0
    return -(chance * math.log2(chance) + (1 - chance) * math.log2(1 - chance))
