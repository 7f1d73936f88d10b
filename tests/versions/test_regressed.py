"""One program by two releases: the older one makes 816 instructions of a histogram for which the newer needs 88."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from shrinkray_gpu.judging.tiered_test import TieredTest
from shrinkray_gpu.oracle import Answer, Oracle, parse
from shrinkray_gpu.oracle.needs import Needs
from shrinkray_gpu.runner.knob_settings import KnobSetting
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.same_fault.controls import of_compilers
from tests.versions import environments

HERE, THERE = "3.6.0", "3.9.0"
PROGRAM = """
import torch
import triton
import triton.language as tl

@triton.jit
def scaled(x, y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at) * 2)

@triton.jit
def counted(x, y, ROWS: tl.constexpr, BINS: tl.constexpr):
    found = tl.histogram(tl.load(x + tl.arange(0, ROWS)), BINS)
    tl.store(y + tl.arange(0, BINS), found)

x = torch.zeros(1024, device="cuda", dtype=torch.int32)
y = torch.zeros(1024, device="cuda", dtype=torch.int32)
scaled[(1,)](x, y, BLOCK=1024)
counted[(1,)](x, y, ROWS=1024, BINS=512)
"""


@pytest.fixture(scope="module")
def lanes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    folder = Path(tmp_path_factory.mktemp("regressed"))
    setup = Setup(
        python=environments.python(HERE),
        environment={**os.environ, "TRITON_CACHE_DIR": str(folder / "triton")},
        imports=("torch", "triton"),
        own=(str(folder),),
        scratch=str(folder),
        arch=90,
    )
    other = KnobSetting(f"triton={THERE}", python=environments.python(THERE))
    wants = asked("instructions").needs.wants
    script = Script(folder / "script.py", cwd=folder, asserts=False, wants=wants, elsewhere=other)
    pool = Pool(script, setup, mode="virtual", jobs=1, seconds=60)
    yield pool
    pool.close()


def asked(figure: str) -> Oracle:
    return parse(f"regressed:{figure}:{THERE}", folder=Path())


def test_a_kernel_that_two_releases_compile_otherwise(lanes: Pool) -> None:
    run = lanes.run(PROGRAM)
    verdict = asked("instructions").judge(run)
    assert verdict.faults, verdict
    assert verdict.why.startswith("kernel counted: ") and f" by Triton {THERE}, " in verdict.why
    assert [one.kernel for one in run.elsewhere or ()] == ["scaled", "counted"]
    assert asked("shared").judge(run).answer is Answer.PASSES

    bound = asked("instructions").calibrate(run)
    alone = PROGRAM.replace("scaled[(1,)](x, y, BLOCK=1024)\n", "")
    assert bound.judge(lanes.run(alone)).faults
    without = PROGRAM.replace("counted[(1,)](x, y, ROWS=1024, BINS=512)\n", "")
    assert bound.judge(lanes.run(without)).answer is Answer.PASSES

    test = TieredTest(bound, lanes)
    for text, is_asked in ((alone, True), (without, False)):
        _, seen = test.lane.run(test.candidate(text), False)
        assert (seen is not None and seen.elsewhere is not None) is is_asked, "the kernel that is left settles it"
    test.close()


def test_a_knob_is_turned_for_both(lanes: Pool) -> None:
    seen = lanes.run(PROGRAM, way=KnobSetting("num_warps=8", knobs={"num_warps": "8"}))
    assert {one.options["num_warps"] for one in (*seen.compiles, *(seen.elsewhere or ()))} == {8}


def test_its_ptxas_is_a_control_where_it_is_another_one() -> None:
    here, there = environments.python(HERE), environments.python(THERE)

    def names(python: str) -> list[str]:
        needs = Needs(elsewhere=KnobSetting("triton", python=python))
        return [control.name for control in of_compilers(needs, here, os.environ)]

    [stages, ptxas] = names(there)
    assert stages == "num_stages=1" and ptxas.startswith("TRITON_PTXAS_PATH=/") and THERE in ptxas
    assert names(here) == ["num_stages=1"]
    assert of_compilers(Needs(), here, os.environ) == ()


def test_the_control_of_ptxas_goes_by_the_architecture() -> None:
    here, needs = environments.python(HERE), Needs(elsewhere=KnobSetting("triton", python=environments.python(THERE)))
    [_, hopper] = of_compilers(needs, here, os.environ, 90)
    assert set(hopper.way.environment) == {"TRITON_PTXAS_PATH"}
    [_, blackwell] = of_compilers(needs, here, os.environ, 100)
    assert set(blackwell.way.environment) == {"TRITON_PTXAS_BLACKWELL_PATH"} and blackwell.name.endswith("-blackwell")
    assert [each.name for each in of_compilers(needs, here, os.environ, 0x942)] == ["num_stages=1"]


def test_the_other_compiler_is_not_asked_where_nothing_was_compiled(lanes: Pool) -> None:
    assert lanes.run("import torch\nraise ValueError\n").elsewhere is None
