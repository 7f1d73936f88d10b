"""The benchmark on simulated histories: its bound, and a few histories of it."""

from __future__ import annotations

import pytest

from benchmarks.bisect_histories import FLAKES, capacity, entropy, row


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.5, 1.0])
def test_the_capacity_is_the_most_that_any_choice_of_versions_tells(rate: float) -> None:
    shares = (step / 10_000 for step in range(1, 10_000))
    most = max(entropy(share * rate) - share * entropy(rate) for share in shares)
    assert capacity(rate) == pytest.approx((1 - FLAKES) * most, rel=1e-4)


@pytest.mark.parametrize("rate", [0.5, 1.0])
def test_a_few_histories_are_searched_rightly_in_twice_the_bound(rate: float) -> None:
    told = row(rate, 50, 0.995, seed=2)
    assert told["right"] >= 49 and told["not found"] == 0, told
    assert told["runs"] <= 2.02 * told["bound"], told
