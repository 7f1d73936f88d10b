"""One knob turned on a real GPU: the corpus case passes with one stage, and a lane that goes on is as it was."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shrinkray_gpu.oracle import parse as parse_oracle
from shrinkray_gpu.oracle.driver_error import OUTSIDE
from shrinkray_gpu.runner.knob_settings import parse_setting
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script

pytestmark = pytest.mark.gpu

CORPUS = (Path(__file__).parents[2] / "corpus/tma_misaligned/repro_tma_misaligned.py").read_text()
PASSES = CORPUS.replace("num_stages=3", "num_stages=2")


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    folder = tmp_path_factory.mktemp("knobs")
    environment = {**os.environ, "TRITON_CACHE_DIR": str(folder / "cache"), "PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
    scratch, imports = str(folder), ("torch", "triton")
    setup = Setup(sys.executable, environment, imports, (), scratch, (scratch,), warm=True, reuse=True)
    made = Pool(Script(folder / "script.py", cwd=folder), setup, mode="fork", jobs=2, seconds=30)
    yield made
    made.close()


def test_one_stage_makes_the_fault_go_away(pool: Pool) -> None:
    plain, turned = pool.run(CORPUS), pool.run(CORPUS, way=parse_setting("num_stages=1"))
    assert plain.driver_error == 716
    assert (turned.exit, turned.driver_error, turned.turned) == (0, 0, {"num_stages": 1}), turned.stderr


@pytest.mark.parametrize("way", ["num_warps=8", "serial", "ptxas=-O0", "llvm=-O0", "exact-allocation"])
def test_other_ways_leave_this_fault_as_it_is(pool: Pool, way: str) -> None:
    run = pool.run(CORPUS, way=parse_setting(way))
    # Without a cache, the first destructor of a tensor finds the error and ends the process: nobody can ask the driver.
    assert parse_oracle("misaligned address", folder=Path()).judge(run).faults, run.stderr
    assert run.turned == ({} if way == "exact-allocation" else {way.partition("=")[0]: int(way != "serial")})


OVERFLOW = """\
import torch
import triton
import triton.language as tl


@triton.jit
def f(x, slots):
    tl.store(x, tl.load(x + tl.load(slots) * 1024))


slots = torch.tensor([{slot}], dtype=torch.int32, device="cuda")
f[(1,)](torch.zeros({size}, dtype=torch.int8, device="cuda"), slots)
torch.cuda.synchronize()
"""


@pytest.mark.parametrize(
    "size, slot, codes, overflows, outside",
    [("2**31 + 1", "2**21", {0}, 1, 0), ("1024", "2**21", OUTSIDE, 1, 1), ("1024", "2**20", OUTSIDE, 0, 1)],
)
def test_an_offset_that_overflowed_is_told_from_one_beyond_its_tensor(
    pool: Pool, size: str, slot: str, codes: set[int], overflows: int, outside: int
) -> None:
    source = OVERFLOW.format(size=size, slot=slot)
    plain, turned = pool.run(source), pool.run(source, way=parse_setting("int64"))
    assert plain.driver_error in OUTSIDE and turned.driver_error in codes, turned.stderr
    assert turned.turned == {"int64": overflows, "outside": outside}


def test_an_access_into_memory_that_is_mapped_beyond_its_tensor_is_told(pool: Pool) -> None:
    """15 MB beyond a tensor of 2 GB, as a reduction had it: the control itself ended well."""
    source = OVERFLOW.format(size="2**31 - 15 * 2**20", slot="2**21")
    beside = source.replace("f[(1,)](", 'beside = torch.zeros(2**26, device="cuda")\nf[(1,)](')
    for text in (source, beside):
        assert pool.run(text, way=parse_setting("int64")).turned == {"int64": 1, "outside": 1}


def test_the_interpreter_runs_the_kernel_on_the_cpu(pool: Pool) -> None:
    run = pool.run(CORPUS, way=parse_setting("interpreter"))
    assert (run.exit, run.driver_error, run.turned) == (0, 0, {"interpreter": 1}), run.stderr


def test_a_lane_goes_on_after_a_turned_run_as_before(pool: Pool) -> None:
    ways = [parse_setting(text) for text in ("as it is", "num_stages=1", "ptxas=-O0", "serial", "as it is")]
    runs = [pool.run(PASSES, way=way) for way in ways]
    assert [run.exit for run in runs] == [0] * 5, runs[0].stderr
    assert [run.mode for run in runs[1:]] == ["warm"] * 4, pool.retired
    hashes = [run.launches[0].hash for run in runs]
    assert len(set(hashes)) == 3 and hashes[0] == hashes[3] == hashes[4]
    assert pool.run(CORPUS).driver_error == 716


LEFTOVERS = '''import torch

SOURCE = r"""
__global__ void leaves() {
  extern __shared__ unsigned int raw[];
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) raw[i] = 1;
}
__global__ void reads() {
  extern __shared__ unsigned int raw[];
  *reinterpret_cast<uint4*>(reinterpret_cast<char*>(raw) + 16 + raw[64] % 16) = make_uint4(raw[65], 0, 0, 0);
}
"""
kernels = [torch.cuda._compile_kernel(SOURCE, name) for name in ("leaves", "reads")]
for _ in range(4):
    for kernel in kernels:
        kernel((2640, 1, 1), (32, 1, 1), shared_mem=40000)
torch.cuda.synchronize()
'''


def test_a_fault_by_what_an_earlier_block_left_goes_away_with_zeroed_shared_memory(pool: Pool) -> None:
    plain, turned = pool.run(LEFTOVERS), pool.run(LEFTOVERS, way=parse_setting("zeroed-shared"))
    assert plain.driver_error == 716, plain.stderr
    assert (turned.exit, turned.driver_error, turned.turned) == (0, 0, {"zeroed-shared": 4}), turned.stderr
    constant = LEFTOVERS.replace("raw[64] % 16", "1")
    assert pool.run(constant, way=parse_setting("zeroed-shared")).driver_error == 716


COUNTS = '''import torch

SOURCE = r"""
__global__ void leaves() {
  extern __shared__ unsigned char raw[];
  for (int i = threadIdx.x; i < 40000; i += blockDim.x) raw[i] = 7;
}
__global__ void counts(int bytes, int* found) {
  __shared__ unsigned char own[100];
  extern __shared__ unsigned char raw[];
  for (int i = threadIdx.x; i < bytes; i += blockDim.x) if (raw[i]) atomicAdd(found, 1);
  for (int i = threadIdx.x; i < 100; i += blockDim.x) if (own[i]) atomicAdd(found + 1, 1);
}
"""
leaves, counts = (torch.cuda._compile_kernel(SOURCE, name) for name in ("leaves", "counts"))
for bytes in (4, 200, 900, 5000):
    found = torch.zeros(2, dtype=torch.int32, device="cuda")
    leaves((264, 1, 1), (32, 1, 1), shared_mem=40000)
    counts((264, 1, 1), (32, 1, 1), (bytes, found), shared_mem=bytes)
    print(*found.tolist())
'''


def test_all_of_a_block_s_shared_memory_is_zeroed_and_no_more(pool: Pool) -> None:
    """The last 736 bytes were not: what the driver has reserved is more than what it uses of that."""
    plain, turned = pool.run(COUNTS), pool.run(COUNTS, way=parse_setting("zeroed-shared"))
    assert all(int(count) for count in plain.stdout.split()), (plain.stdout, plain.stderr)
    assert (turned.exit, turned.stdout) == (0, "0 0\n" * 4), turned.stderr
