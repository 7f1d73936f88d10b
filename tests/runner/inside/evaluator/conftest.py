"""The program of a test module, run once for all of its tests."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runner.inside.conftest import Outcome, Play


@pytest.fixture(scope="module")
def outcomes(prepared: None) -> list[Outcome]:
    return []


@pytest.fixture
def outcome(request: pytest.FixtureRequest, play: Play, outcomes: list[Outcome]) -> Outcome:
    """What became of the module's PROGRAM, held against the rules of its WANTS."""
    if not outcomes:
        outcomes.append(play(request.module.PROGRAM, wants=request.module.WANTS))
    assert not outcomes[0].error, outcomes[0].printed
    return outcomes[0]


@pytest.fixture
def played(outcome: Outcome) -> list[dict[str, Any]]:
    """The launches of the module's PROGRAM."""
    return outcome.launches
