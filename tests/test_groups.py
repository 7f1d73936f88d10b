"""Tests that share what a fixture of their module makes run in one process of pytest, and that is made once."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def shared() -> list[int]:
    return []


@pytest.mark.parametrize("which", [1, 2])
def test_they_are_a_group_that_xdist_keeps_together(
    which: int, shared: list[int], request: pytest.FixtureRequest
) -> None:
    assert [mark.args for mark in request.node.iter_markers("xdist_group")] == [(__name__,)]
    if request.config.getoption("loadgroup", False):
        assert request.node.nodeid.endswith(f"[{which}]@{__name__}")


def test_others_are_none(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("xdist_group") is None
