"""What a dry run settles by itself, ahead of all lanes."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.judging.candidate import Candidate
from shrinkray_gpu.judging.dry_tier import DryTier
from shrinkray_gpu.judging.policy import Policy
from shrinkray_gpu.judging.repetition import FlakyTest
from shrinkray_gpu.judging.tally import Tally
from shrinkray_gpu.oracle import Verdict, parse
from shrinkray_gpu.oracle.statistics import Rate
from shrinkray_gpu.oracle.verdict import shows
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script

COPY = """\
import torch, triton, triton.language as tl
@triton.jit
def kernel(x):
    tile = tl.make_tensor_descriptor(x, [1, {extent}], [{stride}, 1], [1, 4])
    for i in tl.range(2, num_stages={stages}):
        tl.store(x, tl.sum(tile.load([0, 0])))
triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
kernel[(1,)](torch.zeros(4, device="cuda"))
torch.cuda.synchronize()
"""
ORIGINAL = COPY.format(extent=4, stride=4, stages=3)


class Lanes:
    """In place of a GPU, on which all of these end in the error: what is seen of the tiers after this one."""

    def __init__(self) -> None:
        self.asked = 0

    def settle(self, candidate: Candidate) -> Verdict:
        self.asked += 1
        return shows("misaligned address")


@pytest.mark.parametrize(("excludes", "flaky"), [(True, False), (True, True), (False, False)])
def test_a_candidate_with_a_fault_of_its_own_gets_to_no_lane(tmp_path: Path, excludes: bool, flaky: bool) -> None:
    """An H100 ends in the same error at the same instruction, be the stride 16 bytes or the 4 that TMA cannot do. Of
    a fault that only the device shows now and then, calibration lets them exclude where they always show it."""
    pytest.importorskip("triton")
    oracle, lanes = parse("static:tma-alignment", folder=tmp_path), Lanes()
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    setup = Setup(sys.executable, environment, ("torch", "triton"), (str(tmp_path),), str(tmp_path), arch=90)
    with closing(Pool(Script(tmp_path / "copy.py", cwd=tmp_path), setup, mode="virtual", jobs=1, seconds=60)) as pool:
        tier = DryTier(oracle, pool, lanes, Tally())  # type: ignore[arg-type]
        repeats = FlakyTest(Rate(3, 10), pool.run(ORIGINAL)) if flaky else None
        policy = Policy(excludes=excludes, repeats=repeats)

        def settled(source: str) -> tuple[bool, int]:
            verdict = tier.settle(Candidate(pool.script.request(source), policy))
            return verdict.faults, lanes.asked

        assert settled(ORIGINAL) == (True, 1)
        uneven = settled(COPY.format(extent=4, stride=1, stages=3))
        beyond = settled(COPY.format(extent=8, stride=8, stages=3))
        healthy = settled(COPY.format(extent=4, stride=4, stages=1))
    assert [uneven, beyond, healthy] == ([(False, 1)] * 3 if excludes else [(True, 2), (True, 3), (True, 4)])


LOAD = """\
import torch, triton, triton.language as tl
@triton.jit
def kernel(x, y):
    tl.store(y, tl.load(x + tl.program_id(0)))
x = torch.rand(4, device="cuda")
kernel[({grid},)](x, x)
torch.cuda.synchronize()
"""


@pytest.mark.parametrize("compared", [False, True])
def test_where_results_are_compared_no_launch_leaves_its_tensors(tmp_path: Path, compared: bool) -> None:
    oracle, lanes = parse("Tensor-likes are not close", folder=tmp_path), Lanes()
    needs = replace(oracle.needs, compared="recording" if compared else "", rules=frozenset({"bounds"}))
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    setup = Setup(sys.executable, environment, ("torch", "triton"), (str(tmp_path),), str(tmp_path), arch=90)
    script = Script(tmp_path / "load.py", cwd=tmp_path, wants=("static:bounds",))
    with closing(Pool(script, setup, mode="virtual", jobs=1, seconds=60)) as pool:
        tier = DryTier(replace(oracle, needs=needs), pool, lanes, Tally())  # type: ignore[arg-type]
        inside, outside = (
            tier.settle(Candidate(script.request(LOAD.format(grid=grid)), Policy())).faults for grid in (4, 5)
        )
    assert inside and outside is not compared and lanes.asked == 2 - compared
