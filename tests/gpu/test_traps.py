"""Traps that need a real GPU (tests/traps/README.md lists them): sticky errors, two faults of one class, lost state."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from tests.traps.snapping import Outcome, guarded, unguarded
from tests.traps.trap import traps

pytestmark = pytest.mark.gpu

TRAPS = {trap.path.stem: trap for trap in traps(Path(__file__).parent / "traps")}
SECONDS = os.environ.get("TRAP_SECONDS", "60")
"""Of search, each."""
JOBS = os.environ.get("TRAP_JOBS", "8")
"""Lanes for each: contexts of several reductions come up one after another."""


@pytest.mark.parametrize("name", TRAPS)
def test_guarded_it_holds(name: str) -> None:
    outcome = kept(name, "guarded", guarded(TRAPS[name], "--max-time", SECONDS, "--jobs", JOBS))
    assert outcome.code == 0 and not outcome.slips, outcome
    assert re.search(TRAPS[name].fault, outcome.told["fault"]), outcome.told["fault"]
    assert "NOT the same" not in outcome.told["same"]
    assert outcome.told["after"][1] < outcome.told["before"][1], "nothing was reduced"


@pytest.mark.parametrize("name", TRAPS)
def test_a_naive_test_slips(name: str) -> None:
    """Without the lift: one launch by itself is out of the reach of most lures."""
    words = ("--max-time", SECONDS, "--jobs", JOBS, "--skip-pass", "lift")
    outcome = kept(name, "naive", unguarded(TRAPS[name], *words))
    assert outcome.slips, outcome


def kept(name: str, way: str, outcome: Outcome) -> Outcome:
    """The same, after a word on standard output and a copy in $OUT, where the device machine wants its files."""
    told = {key: value for key, value in outcome.told.items() if key != "text"}
    print(name, way, outcome.code, *outcome.slips, json.dumps(told), outcome.text, outcome.said[-3000:], sep="\n")
    if out := os.environ.get("OUT"):
        Path(out, f"trap_{name}_{way}.py").write_text(outcome.text)
        Path(out, f"trap_{name}_{way}.json").write_text(json.dumps({"slips": outcome.slips, **told}, indent=1))
    return outcome
