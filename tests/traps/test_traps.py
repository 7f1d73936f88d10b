"""Programs built to make a reducer slip to another fault (README.md lists them). It must not, and says how it knows.

Each is also reduced by a naive test, which must slip: a trap that never snaps guards nothing.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.traps.snapping import Outcome, guarded, unguarded
from tests.traps.trap import Trap, traps

TRAPS = {trap.path.stem: trap for trap in traps(Path(__file__).parent / "programs")}
GUARDED = ("--jobs", "1", "--max-time", "4")
"""Of search: what CI can afford. A longer reduction asks more of the guards; try it by hand when they change."""
LONGER = ("--jobs", "1", "--max-time", "20")
"""For a machine so busy that nothing could be tried in them."""
NAIVE = ("--jobs", "1", "--max-time", "90")
"""Ends as soon as it slips; the rest is for a busy machine."""


@pytest.mark.parametrize("name", TRAPS)
def test_guarded_it_holds(name: str) -> None:
    outcome = patiently(TRAPS[name])
    assert outcome.code == 0 and not outcome.slips, outcome
    assert re.search(TRAPS[name].fault, outcome.told["fault"]), outcome.told["fault"]
    assert outcome.told["after"] != outcome.told["before"], "nothing was reduced"


@pytest.mark.parametrize("name", TRAPS)
def test_a_naive_test_slips(name: str) -> None:
    outcome = unguarded(TRAPS[name], *NAIVE)
    assert outcome.slips, outcome


def patiently(trap: Trap) -> Outcome:
    outcome = guarded(trap, *GUARDED)
    idle = outcome.told and outcome.told["after"] == outcome.told["before"]
    return guarded(trap, *LONGER) if idle else outcome
