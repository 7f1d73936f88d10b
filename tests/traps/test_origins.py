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
from shrinkray_gpu.passes.schedule import PASSES
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.private_setup import private_setup
from shrinkray_gpu.same_fault.patch.diffs import apply_hunks, hunks
from tests.reduction.course import Bench
from tests.traps.repair import failing, slipped
from tests.traps.trap import Trap, traps

ORIGINS = Path(__file__).parent / "origins"
TRAPS = {trap.path.stem: trap for trap in traps(ORIGINS)}
TRIES = int(os.environ.get("TRAP_TRIES", "60"))
"""What CI can afford. More of them ask more of the guards; try it by hand when they change."""
RULES = ("static:bounds", "static:assert", "static:div0")


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


def test_a_limit_below_what_is_checked_is_refused(pool: Pool) -> None:
    """Two levels where there were 16: the codes that the repair gives have no level either."""
    trap, slip = TRAPS["upper_nibble"], (ORIGINS / "slipped" / "upper_nibble.py").read_text()
    few = slip.replace("0, debug=True", "2, debug=True")
    assert few != slip and slipped(trap, few, pool.run)
    assert not bound(trap, pool).judge(pool.run(few)).faults


@pytest.mark.parametrize("name", TRAPS)
def test_reduced_it_is_true(name: str, pool: Pool, tmp_path: Path) -> None:
    """By the tool's own passes, engine and oracle, so many tries far."""
    trap = TRAPS[name]
    oracle = bound(trap, pool)
    bench = Bench(lambda text: oracle.judge(pool.run(text, machine_code=False)).faults)
    result = bench.reduce(
        trap.program,
        tmp_path / "reduction",
        passes=PASSES,
        skip=trap.skipped,
        stop=lambda: len(bench.asked) >= TRIES,
        values=lambda program: pool.run(program.text, values=True).values,
    ).program
    assert result.size < Program.from_text(trap.program, "trap.py").size
    assert slipped(trap, result.text, pool.run) == "", result.text
