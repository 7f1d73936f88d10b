"""Programs built to make a reducer slip to another fault (README.md lists them). It must not, and says how it knows.

Each is also reduced by a naive test, which must slip: a trap that never snaps guards nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from .snapping import Outcome, guarded, unguarded
from .trap import Trap, traps

TRAPS = {trap.path.stem: trap for trap in traps(Path(__file__).parent / "programs")}
GUARDED = ("--jobs", "1", "--max-time", "4")
"""Of search: what CI can afford. A longer reduction asks more of the guards; try it by hand when they change."""
LONGER = ("--jobs", "1", "--max-time", "60")
"""For a machine so busy that nothing could be tried in them."""
NAIVE = ("--jobs", "1", "--max-time", "90")
"""Ends as soon as it slips; the rest is for a busy machine."""

Outcomes = dict[tuple[str, str], "Future[Outcome]"]


@pytest.fixture(scope="session")
def outcomes(request: pytest.FixtureRequest) -> Iterator[Outcomes]:
    """All reductions that the chosen tests ask for, two at a time: half of each is one process that starts up."""
    chosen = [
        (item.originalname, item.callspec.params["name"])
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == Path(__file__) and hasattr(item, "callspec")
    ]
    threads = ThreadPoolExecutor(2)
    try:
        yield {(test, name): threads.submit(REDUCTIONS[test], TRAPS[name]) for test, name in chosen}
    finally:
        threads.shutdown(cancel_futures=True)


@pytest.mark.parametrize("name", TRAPS)
def test_guarded_it_holds(name: str, outcomes: Outcomes) -> None:
    outcome = outcomes["test_guarded_it_holds", name].result()
    assert outcome.code == 0 and not outcome.slips, outcome
    assert re.search(TRAPS[name].fault, outcome.told["fault"]), outcome.told["fault"]
    assert outcome.told["after"] != outcome.told["before"], "nothing was reduced"


@pytest.mark.parametrize("name", TRAPS)
def test_a_naive_test_slips(name: str, outcomes: Outcomes) -> None:
    outcome = outcomes["test_a_naive_test_slips", name].result()
    assert outcome.slips, outcome


def test_there_are_enough() -> None:
    assert len(TRAPS) >= 20
    assert all(trap.lure for trap in TRAPS.values())


def patiently(trap: Trap) -> Outcome:
    outcome = guarded(trap, *GUARDED)
    idle = outcome.told and outcome.told["after"] == outcome.told["before"]
    return guarded(trap, *LONGER) if idle else outcome


REDUCTIONS = {
    test_guarded_it_holds.__name__: patiently,
    test_a_naive_test_slips.__name__: lambda trap: unguarded(trap, *NAIVE),
}
