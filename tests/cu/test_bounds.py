"""A guard that is too lax by one step is the cause of a fault, and stays."""

from __future__ import annotations

import shutil

import pytest

from shrinkray_gpu.cu.cu_fault import first_look
from shrinkray_gpu.cu.nvcc_trial import CuOutcome
from shrinkray_gpu.cu.on_cpu.bounds import MovableBound, is_mended, movable, too_lax
from shrinkray_gpu.cu.on_cpu.cpu_trial import CpuTrial

ROWS = """
#include <cstdio>
#include <cstdlib>
__global__ void copy(const int* in, int* out, int rows, float scale) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  GUARD
  out[row] = in[row];
}
int main() {
  int rows = 40, *in, *out;
  cudaMalloc(&in, rows * sizeof(int));
  cudaMalloc(&out, rows * sizeof(int));
  cudaMemset(in, 0, rows * sizeof(int));
  copy<<<BLOCKS, 8>>>(in, out, rows, 1.f);
  if (cudaError_t error = cudaDeviceSynchronize()) fprintf(stderr, "%s\\n", cudaGetErrorString(error)), exit(1);
}
"""


def run(cpu: CpuTrial, guard: str, blocks: int) -> CuOutcome:
    return cpu.build(ROWS.replace("GUARD", guard).replace("BLOCKS", str(blocks)), "program", 60.0, first_look)


def test_comparisons_of_a_kernel_s_conditions_can_be_moved() -> None:
    text = """
    __device__ bool far(int a, int b) { return a < b; }
    template <int K> __global__ void f(int n) {
      bool small = n < 3;
      if (n > K && far(n, 1) || n == 2) return;
      if constexpr (K < 4) return;
      for (int i = 0; i <= n; ++i) while (n < i) --n;
    }
    int main(int n, char**) { if (n > 1) return 1; }
    """
    moved, bounds = movable(text)
    assert bounds == (MovableBound(">", 0), MovableBound("<=", 0), MovableBound("<", 0))
    assert "n > shrink_cpu::moved(0, K) && far" in moved and "i <= shrink_cpu::moved(1, n); ++i" in moved
    assert moved.count("moved") == 3
    moved, bounds = movable("__global__ void f(int* p, const int n, size_t m, float x, int i) { if (i < n) p[i] = 0; }")
    assert bounds == (MovableBound("<", 1),) and "i < shrink_cpu::moved(0, n, m)" in moved


def test_a_step_that_ends_nearly_all_work_mends_nothing() -> None:
    rights = {("0", "-1"): 10, ("1", "1"): 100}

    def stepped(more: object) -> int | None:
        assert isinstance(more, dict)
        return rights.get((more["SHRINK_MOVED"], more["SHRINK_MOVED_BY"]))

    bounds = [MovableBound("<", 2), MovableBound(">", 2)]
    assert [*too_lax(bounds, stepped, 50)] == ["> one step stricter"]
    assert [*too_lax(bounds, stepped, 5)] == ["< one step stricter", "> one step stricter"]
    assert is_mended("< one step stricter", bounds, stepped)
    assert not is_mended("<= one step stricter", bounds, stepped)


@pytest.mark.skipif(not (shutil.which("nvcc") and shutil.which("g++")), reason="nvcc and g++ are needed")
def test_a_guard_that_is_too_lax_by_one_stays(cpu: CpuTrial) -> None:
    """A reduction of sums of many sensors dropped `if (sensor > sensors) return;`, which its fix mends."""
    original = run(cpu, "if (row > rows || scale < 0.5f) return;", 7)
    assert original.lax == {"> one step stricter"}
    other = cpu.of_original(original)
    assert "mends it" in run(other, "", 7).lacking
    assert "mends it" in run(other, "", 6).lacking
    assert "mends it" in run(other, "for (; row < 0;) row = 0;", 6).lacking
    assert not run(other, "if (row > rows) return;", 6).lacking
    assert not run(other, "if (row > 40) return;", 7).lacking


@pytest.mark.skipif(not (shutil.which("nvcc") and shutil.which("g++")), reason="nvcc and g++ are needed")
def test_a_guard_that_no_step_mends_may_go(cpu: CpuTrial) -> None:
    """Nor one by a number that is no integer: a threshold is of the data."""
    original = run(cpu, "if (row >= rows + 3 || scale > 1.5f) return; if (scale < 0.5f) row -= 40;", 7)
    assert original.sight is not None and not original.lax
    assert not run(cpu.of_original(original), "", 6).lacking


@pytest.mark.skipif(not (shutil.which("nvcc") and shutil.which("g++")), reason="nvcc and g++ are needed")
def test_a_guard_by_the_wrong_parameter_stays(cpu: CpuTrial) -> None:
    text = ROWS.replace("int rows, float", "int padded, int rows, float")
    text = text.replace("out, rows, 1.f", "out, rows + 8, rows, 1.f").replace("BLOCKS", "9")
    original = cpu.build(text.replace("GUARD", "if (row >= padded) return;"), "program", 60.0, first_look)
    assert original.lax == {">= with another bound"}
    other = cpu.of_original(original)
    less = text.replace("int rows, float", "float").replace("rows + 8, rows", "rows + 8").replace("<<<9", "<<<6")
    assert "mends it" in other.build(less.replace("GUARD", ""), "program", 60.0, first_look).lacking
    kept = less.replace("GUARD", "if (row >= padded) return;")
    assert not other.build(kept, "program", 60.0, first_look).lacking
