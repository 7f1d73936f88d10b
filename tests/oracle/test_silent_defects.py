"""What no device tells of: a candidate may not race, or load what nobody wrote, where the original does neither."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.oracle import parse
from shrinkray_gpu.oracle.same import SameFaultOracle, same_fault
from shrinkray_gpu.oracle.silent_defects import SilentDefects
from shrinkray_gpu.runner.inside.static.cause import RACE
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Launch, Run

ROWS = """import torch, triton, triton.language as tl
@triton.jit
def fill(y, n, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y + at, at.to(tl.float32), mask=at < n)
@triton.jit
def rows(x, y, z, stride, N: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, N)
    value = tl.load(x + row * stride + at) + tl.load(y + row * N + at)
    tl.store(z + row * N + at, value)
x = torch.randn(64, 16, device="cuda")
y, z = torch.empty(64, 16, device="cuda"), torch.empty(64, 16, device="cuda")
fill[(64,)](y, y.numel(), N=16)
rows[(64,)](x, y, z, 4000, N=16)
torch.cuda.synchronize()
"""
BOUNDS = parse("static:bounds", folder=Path())
RACING = ROWS.replace("z + row * N + at, value", "z + at, value")
UNWRITTEN = ROWS.replace("fill[(64,)](y, y.numel(), N=16)\n", "")
PARTLY = ROWS.replace('x = torch.randn(64, 16', 'x = torch.empty(64, 16')


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Run]]:
    folder = tmp_path_factory.mktemp("silent")
    environment = {**os.environ, "TRITON_CACHE_DIR": str(folder / "triton")}
    setup = Setup(sys.executable, environment, ("torch", "triton"), (), str(folder), (str(folder),), arch=90)
    script = Script(folder / "program.py", cwd=folder, wants=BOUNDS.needs.wants)
    pool = Pool(script, setup, mode="virtual", jobs=1, seconds=60)
    yield lambda text: pool.run(text, machine_code=False)
    pool.close()


@pytest.fixture(scope="module")
def oracle(ran: Callable[[str], Run]) -> SameFaultOracle:
    return same_fault(BOUNDS).calibrate(ran(ROWS))


def test_the_original_and_what_is_as_sound_show_the_fault(ran: Callable[[str], Run], oracle: SameFaultOracle) -> None:
    """All program instances may store the same to one element, or none may store at all."""
    same = (
        ROWS.replace("z + row * N + at, value", "z, 1.0")
        .replace("value = ", "tl.device_print('', ")
        .replace("row * N + at)\n", "row * N + at))\n")
    )
    zeros = UNWRITTEN.replace("y, z = torch.empty", "y, z = torch.zeros")
    for text in (ROWS, same, zeros):
        verdict = oracle.judge(ran(text))
        assert verdict.faults, verdict.why


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (RACING, "a second defect: the store at program.py:11:"),
        (UNWRITTEN, "a second defect: the load at program.py:10:"),
        (PARTLY, "a second defect: the load at program.py:10:"),
    ],
)
def test_a_candidate_brings_no_second_defect(
    ran: Callable[[str], Run], oracle: SameFaultOracle, text: str, why: str
) -> None:
    run = ran(text)
    assert oracle.inner.judge(run).faults
    assert why in oracle.judge(run).why and not oracle.judge(run).faults


def test_whose_it_is(ran: Callable[[str], Run]) -> None:
    run = ran(RACING)
    [sentence] = [cause.sentence for launch in run.launches for cause in launch.silent]
    clean, racing = SilentDefects.of(ran(ROWS)), SilentDefects.of(run)
    assert clean == SilentDefects(racing=False, unwritten=False)
    assert clean.second(run, ()) == f"{sentence}; the reduction brought that, the original has nothing of it"
    assert not racing.second(run, ()) and not racing.brought(run)
    unknown = SilentDefects(None, None).second(run, ())
    assert unknown == f"{sentence}; whether the original has the like is not known"
    assert clean.second(run, {RACE}) == "" == clean.second(ran(ROWS), ())


def test_what_was_not_followed_is_not_known() -> None:
    """A candidate that may race is as bad as one that does, if the original does not for sure."""
    launch = Launch("rows", "0", (64,), unordered="too many lanes")
    run = Run("virtual", 1, virtual=True, launches=(launch,))
    assert SilentDefects.of(run) == SilentDefects(racing=None, unwritten=False)
    assert SilentDefects.of(replace(run, virtual=False)) == SilentDefects(None, None)
    assert SilentDefects.of(replace(run, launches=(Launch("rows", "0", (64,)),))) == SilentDefects(None, None)
    assert SilentDefects(False, False).brought(run) == "program instances of rows may race: too many lanes"
    assert not SilentDefects(None, False).brought(run)
