"""On the virtual GPU nothing runs machine code: a search leaves it out where the fault shows without it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shrinkray_gpu.calibration import Limits, Plan, make
from shrinkray_gpu.job.reduce import reduce
from shrinkray_gpu.judging.policy import Policy
from shrinkray_gpu.judging.tiered_test import TieredTest
from shrinkray_gpu.options import Options
from shrinkray_gpu.oracle import parse
from shrinkray_gpu.passes import PASSES
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.inside.vgpu import codeless
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script

SCRIPT = """
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x):
    tl.store(x, 1)


compiled = kernel[(1,)](torch.zeros(1, dtype=torch.int32, device="cuda"))
print(compiled.asm["cubin"][:4], compiled.asm["ptx"])
"""
ELF = "b'\\x7fELF'"
MISALIGNED = """
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x):
    desc = tl.make_tensor_descriptor(x, [8, 4], [4, 1], [1, 4])
    for start in tl.range(2, num_stages=3):
        tl.store(x, tl.sum(desc.load([start, 0])))


triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
kernel[(1,)](torch.zeros(32, device="cuda"))
torch.cuda.synchronize()
"""
REFUSED = """
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x):
    found = tl.inline_asm_elementwise("mov.nonsense $0, $1;", "=r,r", [tl.load(x)], tl.int32, is_pure=False, pack=1)
    tl.store(x, found)


kernel[(1,)](torch.zeros(1, dtype=torch.int32, device="cuda"))
"""


def setup_in(folder: Path) -> Setup:
    environment = {**os.environ, "TRITON_CACHE_DIR": str(folder / "kernels")}
    return Setup(sys.executable, environment, ("torch", "triton"), (), str(folder), arch=90, confine=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("code")


@pytest.fixture(scope="module")
def pool(folder: Path) -> Iterator[Pool]:
    pool = Pool(Script(folder / "script.py", cwd=folder), setup_in(folder), mode="virtual", jobs=1, seconds=60)
    yield pool
    pool.close()


def test_what_it_left_out_is_not_found_by_who_needs_it_nor_the_other_way_round(pool: Pool) -> None:
    """One cache for both, where each kernel is looked up before it is compiled."""
    runs = [pool.run(SCRIPT, machine_code=machine_code) for machine_code in (False, True, False, True)]
    assert ["ELF" in run.stdout for run in runs] == [False, True, False, True], runs
    assert [run.stdout.count(codeless.NOTHING[:4]) for run in runs] == [2, 0, 2, 0], "neither PTX nor what comes of it"
    assert len({run.compiles[0].ttir_key for run in runs}) == 1, "the kernel is the same one"


def test_a_stage_that_comes_of_it_is_never_left_out(pool: Pool) -> None:
    other = SCRIPT.replace("1)\n", "2)\n", 1)
    for stage in ("llir", "ptx", "cubin", "sass"):
        run = pool.run(other, machine_code=False, wants=(stage,))
        assert run.stdout.startswith(ELF) and run.compiles[0].ir[stage], run
    assert pool.run(other, machine_code=False, wants=("ptx",)).compiles[0].ir["ptx"].count(".entry") == 1


def test_the_memory_that_a_candidate_takes_counts_without_a_gpu(pool: Pool) -> None:
    """A type that goes makes of bytes four times as many; on a GPU such a candidate is none."""
    wide = "x, other = torch.zeros({}), torch.empty(1 << 20, device='cuda')\ndel other\nkernel[(1,)](x)\n"
    given = "1 << 31, dtype=torch.int8, device='cuda'", "1 << 31, device='cuda'", "1 << 31"
    peaks = [pool.run(SCRIPT + wide.format(each)).peak for each in given]
    assert peaks == [2 << 30, 8 << 30, 512], peaks


def planned(folder: Path, text: str, *specs: str) -> Plan:
    path = folder / "failing.py"
    path.write_text(text)
    oracle = parse(*specs, folder=folder)
    return make(text, Script(path, cwd=folder), setup_in(folder), oracle=oracle, limits=Limits(1))


@pytest.mark.parametrize(
    ("text", "spec", "machine_code"), [(MISALIGNED, "misaligned address", False), (REFUSED, "ptxas", True)]
)
def test_the_original_decides(tmp_path: Path, text: str, spec: str, machine_code: bool) -> None:
    plan = planned(tmp_path, text, spec)
    try:
        assert plan.mode.machine_code is machine_code
    finally:
        plan.close()


def test_a_reduction_goes_by_what_the_original_showed(pool: Pool, tmp_path: Path) -> None:
    path, made = tmp_path / "failing.py", set[bool]()
    path.write_text(MISALIGNED)
    asked = Options(
        oracle=("misaligned address",),
        arch=90,
        cwd=tmp_path,
        jobs=1,
        guards=False,
        skip=frozenset({"lift", *(each.name for each in PASSES)} - {"statements"}),
        report=False,
    )
    result = reduce(path, asked, progress=lambda event, test: made.add(test.policy.machine_code))
    assert made == {False} and result.verified
    assert pool.cold(result.text).driver_error == 716


def test_ptxas_s_own_refusal_is_seen_by_those_alone_that_have_it(pool: Pool, tmp_path: Path) -> None:
    oracle = parse("ptxas", folder=tmp_path)
    for machine_code in (True, False):
        test = TieredTest(oracle, pool, policy=Policy(machine_code=machine_code))
        (verdict,) = test.judge([Program.from_text(REFUSED, "failing.py")])
        test.close()
        assert verdict.faults is machine_code
