"""Traps that keep every symptom and lose where it begins: two for each of six kinds of origin (README.md lists them).

Truth is mechanical: the repair of the program, carried to what is left of its place, must make the repro pass
(repair.py). `slipped/` has what the reduction of each ended in while nobody compared causes (without_causes.py).
"""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from shrinkray_gpu.oracle import parse
from shrinkray_gpu.oracle.same import SameFaultOracle, same_fault
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.private_setup import private_setup
from shrinkray_gpu.same_fault.patch.diffs import apply_hunks, hunks
from tests.traps.repair import failing, slipped
from tests.traps.snapping import guarded
from tests.traps.test_traps import GUARDED
from tests.traps.trap import Trap, traps

ORIGINS = Path(__file__).parent / "origins"
TRAPS = {trap.path.stem: trap for trap in traps(ORIGINS)}
RULES = ("static:bounds", "static:assert", "static:div0")
pytestmark = pytest.mark.xdist_group("origins")


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """One worker for all texts: each runs in a fork of it."""
    folder = tmp_path_factory.mktemp("origins")
    setup = private_setup(
        folder, os.environ, python=sys.executable, imports=("torch", "triton"), own=(), arch=90, warm=False
    )
    script = Script(folder / "trap.py", cwd=folder, wants=RULES)
    with closing(Pool(script, setup, mode="virtual", jobs=1, seconds=60)) as lanes:
        yield lanes


def bound(trap: Trap, pool: Pool) -> SameFaultOracle:
    """The trap's own oracle, as it judges candidates."""
    spec = trap.words[trap.words.index("--oracle") + 1]
    return same_fault(parse(spec, folder=ORIGINS)).calibrate(pool.run(trap.program))


@pytest.mark.parametrize("name", TRAPS)
def test_the_repair_ends_the_fault(name: str, pool: Pool) -> None:
    """Of the program as it is, and as the regular expressions find its place there."""
    trap = TRAPS[name]
    assert slipped(trap, trap.program, pool.run) == ""
    file = trap.path.with_suffix(".diff")
    fixed = apply_hunks(trap.program, hunks(file.read_text(), file.name), file.name, trap.path.name)
    assert failing(pool.run(fixed)) == ""


@pytest.mark.parametrize("name", TRAPS)
def test_a_slip_is_refused_for_its_cause_alone(name: str, pool: Pool) -> None:
    trap, slip = TRAPS[name], (ORIGINS / "slipped" / f"{name}.py").read_text()
    oracle, run = bound(trap, pool), pool.run(slip)
    refused = oracle.judge(run)
    assert not refused.faults and refused.why.startswith("another cause: "), refused
    assert dataclasses.replace(oracle, causes=None).judge(run).faults
    assert slipped(trap, slip, pool.run)


@pytest.mark.parametrize("name", TRAPS)
def test_reduced_it_is_true(name: str, pool: Pool) -> None:
    outcome = guarded(TRAPS[name], *GUARDED)
    assert outcome.code == 0 and outcome.told["after"] != outcome.told["before"], outcome
    assert slipped(TRAPS[name], outcome.text, pool.run) == "", outcome
