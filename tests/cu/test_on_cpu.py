"""Kernels on the CPU: the machine of one core sees what compute-sanitizer saw of the same programs on an H200."""

from __future__ import annotations

import copy
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

import shrinkray_gpu.cu.reduce_cu as reduce_cu_module
from shrinkray_gpu.cu.cu_fault import first_look, run_fault
from shrinkray_gpu.cu.cu_file import read_cu
from shrinkray_gpu.cu.cu_program import CUDA_PASSES
from shrinkray_gpu.cu.device_sight import DeviceSight
from shrinkray_gpu.cu.nvcc_test import NvccTest
from shrinkray_gpu.cu.nvcc_trial import CuOutcome, Look, NvccTrial
from shrinkray_gpu.cu.on_cpu import cpu_trial
from shrinkray_gpu.cu.on_cpu.cpu_text import cpu_text
from shrinkray_gpu.cu.on_cpu.cpu_trial import CpuTrial, agreeing
from shrinkray_gpu.cu.options import CuOptions
from shrinkray_gpu.cu.reduce_cu import reduce_cu
from shrinkray_gpu.runner.launch_recorder import Room

RUNTIME = Path(__file__).parents[2] / "benchmarks" / "cu_files" / "runtime"
SUMS = r"""
#include <cstdio>
__device__ float total(float value, float* partial) {
  for (int lane = 16; lane > 0; lane /= 2) value += __shfl_down_sync(~0u, value, lane);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  return partial[0] + partial[1];
}
template <typename T>
__global__ void sums(T* out, int* count, const T* in, int rows) {
  __shared__ T partial[2];
  const T sum = total(in[blockIdx.x * blockDim.x + threadIdx.x], partial);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
  if (threadIdx.x == 0) atomicAdd(count, __any_sync(1, 1));
}
int main() {
  float *in, *out, host[256];
  int *count, counted;
  for (int i = 0; i < 256; ++i) host[i] = i;
  cudaMalloc(&in, sizeof host);
  cudaMalloc(&out, 4 * sizeof(float));
  cudaMalloc(&count, sizeof counted);
  cudaMemset(count, 0, sizeof counted);
  cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
  sums<<<4, 64>>>(out, count, in, 4);
  if (cudaError_t error = cudaDeviceSynchronize()) {
    std::fprintf(stderr, "failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  cudaMemcpy(host, out, 4 * sizeof(float), cudaMemcpyDeviceToHost);
  cudaMemcpy(&counted, count, sizeof counted, cudaMemcpyDeviceToHost);
  std::printf("%g %g %g %g %d\n", host[0], host[1], host[2], host[3], counted);
}
"""
OVERRUN = SUMS.replace("cudaMalloc(&in, sizeof host)", "cudaMalloc(&in, sizeof host / 2)").replace(
    "cudaMemcpy(in, host, sizeof host,", "cudaMemcpy(in, host, sizeof host / 2,"
)

pytestmark = pytest.mark.skipif(not (shutil.which("nvcc") and shutil.which("g++")), reason="nvcc and g++ are needed")


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> NvccTrial:
    folder = tmp_path_factory.mktemp("trial")
    nvcc = Path(shutil.which("nvcc") or "")
    flags = ("-arch=sm_90", "-std=c++17")
    return NvccTrial(nvcc, flags, "k.cu", folder, environment=dict(os.environ), hosted=False, cwd=folder)


@pytest.fixture(scope="module")
def on_cpu(trial: NvccTrial, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CpuTrial]:
    made = CpuTrial(trial, "g++", tmp_path_factory.mktemp("machine"))
    assert made.prepare() == ""
    yield made


@pytest.mark.parametrize(
    ("name", "sight", "room"),
    [
        ("gather_packed", DeviceSight("gather_rows", "Invalid __global__ read", 16, True, "", True), None),
        ("transpose_tiles", DeviceSight("transpose", "Invalid __shared__ write", 8, False, ""), Room("shared", 2)),
    ],
)
def test_the_first_access_is_that_of_the_gpu_and_the_fix_mends_it(
    on_cpu: CpuTrial, name: str, sight: DeviceSight, room: Room | None
) -> None:
    text = (RUNTIME / f"{name}.cu").read_text()
    outcome = on_cpu.build(text, "program", 60.0, first_look)
    assert (outcome.sight, outcome.room) == (sight, room)
    before, after = ((line[1:]) for line in (RUNTIME / "fixes" / f"{name}.diff").read_text().splitlines())
    assert before in text
    mended = on_cpu.build(text.replace(before, after), "program", 60.0, first_look)
    assert mended.run is not None and mended.run.exit == 0 and mended.sight is None


def test_a_compiler_that_checks_jumps_by_default_makes_a_machine_as_well(trial: NvccTrial, tmp_path: Path) -> None:
    """As that of Ubuntu, by which the program ended with signal 6."""
    compiler = tmp_path / "checking-g++"
    checks = "-D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection -fcf-protection"
    compiler.write_text(f'#!/bin/sh\nexec g++ {checks} "$@"\n')
    compiler.chmod(0o755)
    made = CpuTrial(trial, str(compiler), tmp_path)
    assert made.prepare() == ""
    outcome = made.build(SUMS, "program", 60.0)
    assert outcome.run is not None and (outcome.run.exit, outcome.run.signal) == (0, None), outcome


def test_a_program_of_an_older_standard_runs_there_too(trial: NvccTrial, tmp_path: Path) -> None:
    older = copy.copy(trial)
    older.flags = ("-arch=sm_90", "-std=c++14")
    made = CpuTrial(older, "g++", tmp_path)
    assert made.prepare() == ""
    outcome = made.build(SUMS, "program", 60.0)
    assert outcome.run is not None and outcome.run.exit == 0, outcome


def test_threads_meet_at_barriers_and_exchange_values(on_cpu: CpuTrial) -> None:
    outcome = on_cpu.build(SUMS, "program", 60.0)
    assert outcome.run is not None and outcome.run.stdout == "2016 6112 10208 14304 4\n", outcome


def test_an_access_behind_an_allocation_until_there_is_room(on_cpu: CpuTrial) -> None:
    outcome = on_cpu.build(OVERRUN, "program", 60.0, first_look)
    assert outcome.sight == DeviceSight("sums", "Invalid __global__ read", 4, False, "near")
    assert outcome.room == Room("memory", 2)
    assert outcome.run is not None and outcome.run.stderr == "failed: an illegal memory access was encountered\n"
    split = OVERRUN.replace("cudaMalloc(&in, sizeof host / 2)", "cudaMalloc(&in, 2)")
    inside = on_cpu.build(split, "program", 60.0, first_look).sight
    assert inside is not None and inside.place == "inside", "an allocation of half an element is another mistake"


def test_threads_that_wait_for_each_other_and_much_memory_tell_nothing(on_cpu: CpuTrial) -> None:
    assert "cannot" in on_cpu.build(SUMS.replace("&in, sizeof host", "&in, 3ull << 30"), "program", 60.0).trouble
    stuck = SUMS.replace("__syncthreads();", "if (threadIdx.x < 32) __syncthreads(); else __syncwarp();")
    assert "cannot" in on_cpu.build(stuck.replace("threadIdx.x < 32", "threadIdx.x < 5"), "program", 60.0).trouble


def test_the_guess_is_used_where_it_agrees_with_the_gpu(trial: NvccTrial, on_cpu: CpuTrial) -> None:
    seen = run_fault(OVERRUN, on_cpu.build(OVERRUN, "program", 60.0, first_look), (), hosted=False)
    assert seen is not None and seen.sight is not None
    with agreeing(OVERRUN, trial, seen) as (found, why):
        assert found is not None and why == ""
        with ThreadPoolExecutor(1) as threads:
            test = NvccTest(found, seen, 60.0, threads)
            assert test.verdict(OVERRUN).faults and test.verdict(OVERRUN.replace("rows) {", "rows) { rows;")).faults
            assert not test.verdict(SUMS).faults
    other = replace(seen, sight=replace(seen.sight, size=8))
    with agreeing(OVERRUN, trial, other) as (found, why):
        assert found is None and "of 4 bytes" in why
    unreadable = OVERRUN.replace(
        "int main() {", '__device__ void f() { asm("bar.sync 0;" ::: "memory"); }\nint main() {'
    )
    with agreeing(unreadable.replace("const T sum", "f(); const T sum"), trial, seen) as (found, why):
        assert found is None and why


def test_a_guess_that_the_gpu_refutes_is_taken_back(
    trial: NvccTrial, on_cpu: CpuTrial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if a fault hung on a variable that says nothing to the CPU."""
    source = tmp_path / "k.cu"
    source.write_text(f"// nvcc -std=c++17 k.cu\n{OVERRUN}".replace("*count, counted;", "*count, counted, marker = 0;"))
    asked: list[str] = []
    gpu = copy.copy(trial)

    def build(text: str, stage: str, seconds: float, look: Look = lambda outcome: None) -> CuOutcome:
        asked.append(text)
        outcome = on_cpu.build(text, stage, seconds, look)
        return outcome if "marker" in text else replace(outcome, sight=None, room=None)

    gpu.build = build  # type: ignore[method-assign]
    monkeypatch.setattr(reduce_cu_module, "trial_of", lambda path, options: nullcontext((read_cu(path, None, 90), gpu)))
    kept = {"cuda_unread", "cuda_checks", "cuda_unreachable"}
    skip = frozenset(each.name for each in CUDA_PASSES) - kept
    sizes = set()
    for left_out, tries, guesses in ((skip, 0, 20), (skip, 0, 10_000), (skip | {"on_cpu"}, 1, 20)):
        monkeypatch.setattr(reduce_cu_module, "GUESSES", guesses)
        said: list[str] = []
        asked.clear()
        options = CuOptions(nvcc=Path(trial.nvcc), skip=left_out, restart=True, max_time=300.0)
        found = reduce_cu(source, options, tmp_path / "k.shrink", tmp_path / "out.cu", say=said.append)
        assert not found.refuted and "marker" in found.text and found.after[1] < found.before[1]
        assert "marker" in (tmp_path / "k.shrink" / "best.cu").read_text()
        sizes.add(found.after)
        assert len(asked) >= found.tries * tries and any("the CPU sees the same" in line for line in said) != bool(
            tries
        )
    assert len(sizes) == 1


def test_launches_are_calls_and_shared_memory_has_an_address() -> None:
    text = "extern __shared__ __align__(16) float tile[];\nvoid f() { a::k<int><<<n, dim3(2, 2), 8>>>(x, {}); }\n"
    assert cpu_text(text) == (
        "float * tile = (float *)shrink_cpu::shared_memory;\n"
        'void f() { shrink_cpu::Launch("k", n, dim3(2, 2), 8).run(a::k<int>, x, {}); }\n'
    )


def test_a_kernel_whose_template_arguments_are_told_in_part_is_called_by_a_lambda() -> None:
    kernel = "template <int N, class T>\n__global__ void __launch_bounds__(N) k(T x) {}\nvoid f() { %s }\n"
    assert "run(k<4, int>, x)" in cpu_text(kernel % "k<4, int><<<1, 4>>>(x);")
    for call in ("k<4>", "a::k<4>"):
        part = cpu_text(kernel % f"{call}<<<1, 4>>>(x);")
        assert f"deduced([](auto... given) {{ {call}(given...); }}, x)" in part


@pytest.mark.parametrize("written", ["", "kernel\tread", "k\tread\tmany\t1\t\t0", "\t" * 5, "k" * 100_000])
def test_what_a_program_writes_in_the_place_of_the_machine_is_no_access(written: str, tmp_path: Path) -> None:
    (tmp_path / "record").write_text(written)
    assert cpu_trial._sight(tmp_path / "record") is None and cpu_trial._sight(tmp_path / "none") is None


def test_what_was_built_for_a_gpu_is_not_built_again(trial: NvccTrial, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "__global__ void k() {}\nint main() { k<<<1, 1>>>(); }\n// once\n"
    first = trial.build(text, "object", 60)
    assert not first.failed
    monkeypatch.setattr(trial, "_nvcc", lambda *words, **how: pytest.fail("built again"))
    assert trial.build(text, "object", 60) is first
