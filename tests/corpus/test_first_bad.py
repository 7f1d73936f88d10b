"""The search for the first bad version: histories as data, and an answer for each version that it asks."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable

import pytest

from shrinkray_gpu.corpus import first_bad
from shrinkray_gpu.corpus.first_bad import FirstBad, Suspects
from shrinkray_gpu.oracle import Answer

SIGNS = {"F": Answer.FAULTS, ".": Answer.PASSES, "?": Answer.UNKNOWN}


def searched(signs: str, *, confidence: float = 0.95, most: int = 500) -> tuple[FirstBad, list[int]]:
    """A history with a sign for each version: F faults, . passes, ? another fault, - cannot be built."""
    search, asked = FirstBad(len(signs) - 1, confidence=confidence), list[int]()
    while (version := search.choice()) is not None:
        asked.append(version)
        assert len(asked) < most
        if signs[version] == "-":
            search.cannot(version)
        else:
            search.add(version, SIGNS[signs[version]])
    return search, asked


def set_found(signs: str) -> tuple[int, int]:
    found = searched(signs)[0].found()
    assert found is not None
    return found.first, found.last


@pytest.mark.parametrize("first", range(1, 12))
def test_a_sure_fault_is_found_wherever_it_began(first: int) -> None:
    assert set_found("." * first + "F" * (12 - first)) == (first, first)


def test_a_long_history_takes_hardly_more_runs_than_halving() -> None:
    _, asked = searched("." * 700 + "F" * 324)
    assert len(asked) <= math.log2(1024) + 8


def test_a_version_that_cannot_be_built_stays_beside_its_neighbour() -> None:
    assert set_found("....-FFFF") == (4, 5)
    assert set_found("..----FFF") == (2, 6)
    assert set_found("...FFFF-F") == (3, 3)


def test_a_version_that_shows_another_fault_is_neither_good_nor_bad() -> None:
    assert set_found("...??FFFF") == (3, 5)
    search = FirstBad(8)
    for _ in range(3):
        search.add(8, Answer.FAULTS)
    before = search.probabilities()
    search.add(4, Answer.UNKNOWN)
    assert search.probabilities() == before and search.runs(4) == (0, 0, 1)


def test_another_fault_now_and_then_changes_nothing() -> None:
    search, signs, turn = FirstBad(9), "....FFFFFF", 0
    while (version := search.choice()) is not None:
        turn += 1
        search.add(version, Answer.UNKNOWN if turn % 3 == 0 else SIGNS[signs[version]])
    assert search.found() == search.suspects()[0] and search.suspects()[0].first == 4


def test_a_good_end_that_is_bad_is_told_as_such() -> None:
    assert set_found("FFFFFFFF") == (0, 0)


def test_a_bad_end_without_its_fault_is_asked_on() -> None:
    search = FirstBad(5)
    for _ in range(40):
        assert search.choice() == 5
        search.add(5, Answer.PASSES)


def test_where_nothing_between_the_ends_can_be_built_all_of_it_is_suspect() -> None:
    assert set_found(".------F") == (1, 7)


def test_a_bad_end_that_cannot_be_built_ends_the_search() -> None:
    search = FirstBad(3)
    search.cannot(3)
    assert search.choice() is None and search.found() is None


def test_what_is_left_is_a_range_until_the_confidence_is_there() -> None:
    search = FirstBad(100)
    for _ in range(3):
        search.add(100, Answer.FAULTS)
    search.add(0, Answer.PASSES)
    search.add(50, Answer.FAULTS)
    left = search.range_left()
    assert search.found() is None and left.last <= 50 and 40 <= left.last - left.first and left.probability >= 0.95
    assert search.suspects()[0].probability < 0.05


def test_the_posterior_is_that_of_bayes_over_every_rate() -> None:
    """The closed form against the sum over a fine grid of rates."""
    search, answers = FirstBad(4), [(4, "F"), (4, "F"), (4, "."), (0, "."), (2, "."), (2, "."), (3, "F"), (1, ".")]
    for version, sign in answers:
        search.add(version, SIGNS[sign])
    grid = [(step + 0.5) / 20_000 for step in range(20_000)]
    weights = []
    for candidate in range(5):
        prior = first_bad.GOOD_END_IS_BAD if candidate == 0 else (1 - first_bad.GOOD_END_IS_BAD) / 4

        def seen(rate: float, candidate: int = candidate) -> float:
            chances = (rate if version >= candidate else first_bad.MISTAKE for version, _ in answers)
            return math.prod(chance if sign == "F" else 1 - chance for chance, (_, sign) in zip(chances, answers))

        density = (first_bad.SHAPE * rate ** (first_bad.SHAPE - 1) for rate in grid)
        flat = sum(each * seen(rate) for each, rate in zip(density, grid)) / len(grid)
        weights.append(prior * ((1 - first_bad.ALWAYS) * flat + first_bad.ALWAYS * seen(1.0)))
    for exact, wanted in zip(search.probabilities(), weights):
        assert exact == pytest.approx(wanted / sum(weights), rel=1e-3)


def test_the_choice_tells_as_much_as_any_other_version_would() -> None:
    """The few versions that are looked at hold the best of all, by the definition of information."""
    rng = random.Random(5)
    search = FirstBad(60)
    for _ in range(60):
        version = search.choice()
        if version is None:
            break
        chosen, best = information(search, version), max(information(search, each) for each in range(61))
        if search.runs(60)[0] >= first_bad.SIGHTINGS and sum(search.runs(0)):
            assert chosen == pytest.approx(best, rel=1e-6)
        search.add(version, Answer.FAULTS if version >= 37 and rng.random() < 0.4 else Answer.PASSES)


def information(search: FirstBad, version: int) -> float:
    """What the entropy of the candidates loses by a run, whose rate under each candidate is left as it is."""
    rows = [(stretch.each, stretch.rate, each) for stretch in search._stretches() for each in within(stretch)]
    shows = [(weight, rate if candidate <= version else first_bad.MISTAKE) for weight, rate, candidate in rows]
    sees = sum(weight * chance for weight, chance in shows)
    after = [([w * c / sees for w, c in shows], sees), ([w * (1 - c) / (1 - sees) for w, c in shows], 1 - sees)]
    return bits(w for w, _ in shows) - sum(share * bits(weights) for weights, share in after)


def within(stretch: first_bad._Stretch) -> range:
    return range(stretch.first, stretch.last + 1)


def bits(weights: Iterable[float]) -> float:
    return -sum(weight * math.log2(weight) for weight in weights if weight > 0)


def test_a_version_at_hand_is_run_again_where_another_costs_too_much() -> None:
    def first_runs(first_run: float) -> set[int]:
        search, rng, versions = FirstBad(200), random.Random(1), set[int]()
        while (version := search.choice(first_run)) is not None:
            versions.add(version)
            search.add(version, Answer.FAULTS if version >= 90 and rng.random() < 0.3 else Answer.PASSES)
        return versions

    assert len(first_runs(20.0)) < len(first_runs(1.0))


@pytest.mark.parametrize("rate", [0.2, 0.5])
def test_a_flaky_fault_is_named_rightly_as_often_as_was_asked_for(rate: float) -> None:
    def right(rng: random.Random) -> bool:
        first = rng.randrange(1, 32)
        return found_by(FirstBad(31), lambda version: version >= first and rng.random() < rate).first == first

    rng = random.Random(11)
    assert sum(right(rng) for _ in range(150)) >= 0.95 * 150 - 7  # three standard deviations


@pytest.mark.parametrize(("last", "rate"), [(1, 0.2), (1, 0.5), (7, 0.2), (7, 0.5)])
def test_a_good_end_with_the_same_flaky_fault_is_hardly_ever_believed(last: int, rate: float) -> None:
    rng = random.Random(4)
    found = [found_by(FirstBad(last), lambda version: rng.random() < rate) for _ in range(60)]
    assert sum(each.first > 0 for each in found) <= 5


def test_a_good_end_of_a_sure_fault_is_soon_believed() -> None:
    search = FirstBad(1, always=first_bad.SURE)
    for version in (1, 1, 1, 0, 0, 0, 0):
        assert search.choice() == version
        search.add(version, Answer.FAULTS if version else Answer.PASSES)
    assert search.found() is not None and not search.good_end_is_doubted


@pytest.mark.parametrize("rate", [0.5, 0.7, 0.9])
@pytest.mark.parametrize("always", [first_bad.ALWAYS, first_bad.SURE])
def test_a_name_is_as_rarely_wrong_where_the_prior_is(always: float, rate: float) -> None:
    """A fault that was expected in every run, and shows in some only: at each release in turn, so that no average over
    releases hides those at which it is wrong more often."""
    rng, wrong = random.Random(5), []
    for first in [*range(1, 8)] * 40:
        found = found_by(
            FirstBad(7, always=always), lambda version, first=first: version >= first and rng.random() < rate
        )
        wrong.append(found.first != first)
    assert sum(wrong) <= 0.05 * len(wrong)


def test_the_version_before_the_one_named_is_run_until_luck_is_unlikely() -> None:
    search = FirstBad(7, always=first_bad.SURE)
    for version in (7, 7, 7, 5):
        search.add(version, Answer.FAULTS)
    for version in (0, 4):
        search.add(version, Answer.PASSES)
    asked = 0
    while search.found() is None:
        assert search.choice() == 4
        search.add(4, Answer.PASSES)
        asked += 1
    assert asked >= 2 and search.choice() is None
    search.add(4, Answer.FAULTS)  # it was luck
    assert search.found() is None


def test_a_good_end_is_asked_until_it_is_believed() -> None:
    search = FirstBad(1)
    for sign in "F.F.FF":
        assert search.begins and search.choice() == 1
        search.add(1, SIGNS[sign])
    search.add(0, Answer.PASSES)
    asked = 0
    while search.found() is None:
        assert search.choice() == 0 and search.good_end_is_doubted
        search.add(0, Answer.PASSES)
        asked += 1
    assert asked >= 3 and search.choice() is None and search.probabilities()[0] < 0.005


def found_by(search: FirstBad, shows: Callable[[int], bool]) -> Suspects:
    while (version := search.choice()) is not None:
        search.add(version, Answer.FAULTS if shows(version) else Answer.PASSES)
    found = search.found()
    assert found is not None
    return found


def test_what_is_no_history_is_refused() -> None:
    with pytest.raises(ValueError, match="two versions or more"):
        FirstBad(0)
    with pytest.raises(ValueError, match="two versions or more"):
        FirstBad(5, confidence=1.0)
