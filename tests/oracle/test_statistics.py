"""The numbers of flaky faults: against closed forms, and against sums over all that can happen."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrinkray_gpu.oracle.statistics import (
    Rate,
    SequentialTest,
    at_least,
    by_chance,
    clean_runs,
    interval,
    lower,
    share,
    upper,
)

RATES = st.floats(0.001, 0.999)


@st.composite
def counts(draw: st.DrawFn, most: int = 60) -> tuple[int, int]:
    runs = draw(st.integers(1, most))
    return draw(st.integers(0, runs)), runs


def test_the_tail_is_the_sum_of_its_terms() -> None:
    assert at_least(2, 3, 0.5) == pytest.approx(0.5)
    assert at_least(1, 10, 0.3) == pytest.approx(1 - 0.7**10)
    assert at_least(200, 200, 0.01) == pytest.approx(0.01**200, rel=1e-9), "no digits lost in one minus nearly one"
    assert (at_least(0, 5, 0.2), at_least(1, 5, 0.0), at_least(5, 5, 1.0)) == (1, 0, 1)


def test_the_interval_where_it_has_a_closed_form() -> None:
    assert interval(0, 10) == (0, pytest.approx(1 - 0.025 ** (1 / 10)))
    assert interval(10, 10) == (pytest.approx(0.025 ** (1 / 10)), 1)
    assert interval(1, 1, 0.9) == (pytest.approx(0.05), 1)


def test_the_interval_of_a_textbook_example() -> None:
    low, high = interval(12, 40)
    assert (round(low, 4), round(high, 4)) == (0.1656, 0.4653)


@given(counts())
def test_each_end_is_where_the_tail_has_the_error(seen: tuple[int, int]) -> None:
    sightings, runs = seen
    low, high = interval(sightings, runs)
    assert low <= sightings / runs <= high
    if sightings:
        assert at_least(sightings, runs, low) == pytest.approx(0.025)
    if sightings < runs:
        assert 1 - at_least(sightings + 1, runs, high) == pytest.approx(0.025)
    assert (lower(sightings, runs, 0.025), upper(sightings, runs, 0.025)) == pytest.approx((low, high))


@given(RATES, st.sampled_from([5, 17, 40]))
def test_the_interval_holds_the_rate_as_often_as_it_says(rate: float, runs: int) -> None:
    missed = 0.0
    for sightings in range(runs + 1):
        low, high = interval(sightings, runs)
        if not low <= rate <= high:
            missed += math.comb(runs, sightings) * rate**sightings * (1 - rate) ** (runs - sightings)
    assert missed <= 0.05 + 1e-9


@given(RATES, st.floats(1e-9, 0.5))
def test_no_fewer_clean_runs_would_do(rate: float, error: float) -> None:
    runs = clean_runs(rate, error)
    assert (1 - rate) ** runs <= error * (1 + 1e-9)
    assert runs == 1 or (1 - rate) ** (runs - 1) > error * (1 - 1e-9)


def test_clean_runs_of_a_sure_fault() -> None:
    assert (clean_runs(1, 0.01), clean_runs(0.3, 0.05), clean_runs(0.5, 0.25)) == (1, 9, 2)


@pytest.mark.parametrize("rate, error", [(0, 0.1), (1.1, 0.1), (0.3, 0), (0.3, 1)])
def test_nonsense_is_refused(rate: float, error: float) -> None:
    with pytest.raises(ValueError):
        clean_runs(rate, error)


def test_fisher_s_test_on_his_own_tea_cups() -> None:
    assert by_chance(Rate(1, 4), Rate(3, 4)) == pytest.approx(17 / 70)
    assert by_chance(Rate(0, 4), Rate(4, 4)) == pytest.approx(1 / 70)


@given(counts(20), counts(20))
def test_a_rise_and_no_fall_share_out_all_chances(one: tuple[int, int], other: tuple[int, int]) -> None:
    before, after = Rate(*one), Rate(*other)
    assert 0 < by_chance(before, after) <= 1 + 1e-12
    total = before.sightings + after.sightings
    same = math.comb(after.runs, after.sightings) * math.comb(before.runs, before.sightings)
    both = by_chance(before, after) + by_chance(after, before)
    assert both == pytest.approx(1 + same / math.comb(before.runs + after.runs, total))


def test_the_parts_of_the_budget_are_all_of_it_and_no_more() -> None:
    total = sum(share(index) for index in range(1, 100_000))
    assert 0.999 < total < 1
    assert share(1) / share(64) < 4, "nearly even over the usual number of decisions"
    assert all(share(index) > share(index + 1) for index in range(1, 200))
    with pytest.raises(ValueError):
        share(0)


def test_a_sequential_test_of_a_fault_that_never_shows_or_always() -> None:
    test = SequentialTest(floor=0.15, goal=0.3, accept_error=0.01, refute_error=0.02)
    # Each clean run takes log(0.7 / 0.85), each sighting adds log(2).
    assert [test.decision(0, runs) for runs in (23, 24)] == [None, False]
    assert [test.decision(runs, runs) for runs in (6, 7)] == [None, True]
    assert test.soonest(0, 0) == 7 and test.soonest(0, 20) == 4 and test.soonest(6, 6) == 1


@pytest.mark.parametrize("accept_error, refute_error", [(0.05, 0.05), (0.01, 0.1), (0.0004, 0.1), (0.0001, 0.0002)])
@pytest.mark.parametrize("floor, goal", [(0.15, 0.3), (0.15, 0.24), (0.4, 0.7), (0.03, 0.06), (0.5, 0.94)])
def test_what_a_sequential_test_promises_holds_exactly(
    floor: float, goal: float, accept_error: float, refute_error: float
) -> None:
    test = SequentialTest(floor, goal, accept_error, refute_error)
    at_floor, at_goal = test.operating(floor), test.operating(goal)
    assert at_floor.accepted <= accept_error
    assert at_goal.refuted <= refute_error
    for found in (at_floor, at_goal):
        assert found.accepted + found.refuted == pytest.approx(1), "the test comes to an end"
        assert 0 < found.runs <= test.most
    assert test.operating(floor / 2).accepted < at_floor.accepted
    assert test.operating((1 + goal) / 2).refuted < at_goal.refuted


def test_it_takes_fewer_runs_than_a_test_of_fixed_length() -> None:
    test = SequentialTest(0.15, 0.3, 0.01, 0.01)

    def enough(runs: int) -> bool:
        return any(
            at_least(limit, runs, 0.15) <= 0.01 and 1 - at_least(limit, runs, 0.3) <= 0.01 for limit in range(runs)
        )

    fixed = next(runs for runs in range(1, 1000) if enough(runs))
    assert test.operating(0.3).runs < 0.6 * fixed
    assert test.operating(0.0).runs < 0.3 * fixed


@given(st.integers(0, 200), st.integers(0, 200))
def test_no_decision_is_possible_before_the_soonest(sightings: int, clean: int) -> None:
    test = SequentialTest(0.2, 0.4, 0.001, 0.05)
    runs = sightings + clean
    if test.decision(sightings, runs) is not None:
        return
    ahead = test.soonest(sightings, runs)
    assert all(test.decision(sightings + k, runs + ahead - 1) is None for k in range(ahead)) or ahead == 1
    assert any(test.decision(sightings + k, runs + ahead) is not None for k in range(ahead + 1))


@pytest.mark.parametrize("floor, goal", [(0.3, 0.3), (0.4, 0.3), (0, 0.3), (0.5, 1.1)])
def test_a_test_of_nothing_is_refused(floor: float, goal: float) -> None:
    with pytest.raises(ValueError):
        SequentialTest(floor, goal, 0.01, 0.01)


def test_a_rate_in_words() -> None:
    assert str(Rate(12, 40)) == "12 of 40 runs (30 %, 95 % interval 17 to 47 %)"
    assert Rate(1, 2) + Rate(3, 4) == Rate(4, 6)
    assert Rate(0, 0).estimate == 0 and str(Rate(0, 0)).startswith("0 of 0 runs")
