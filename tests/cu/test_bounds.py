"""A guard that is too lax by one step is the cause of a fault, and stays."""

from __future__ import annotations

import shutil

import pytest

from shrinkray_gpu.cu.cu_fault import first_look
from shrinkray_gpu.cu.nvcc_trial import CuOutcome
from shrinkray_gpu.cu.on_cpu.bounds import is_mended, movable, too_lax
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
    assert bounds == (">", "<=", "<")
    assert "n > shrink_cpu::moved(0, K) && far" in moved and "i <= shrink_cpu::moved(1, n); ++i" in moved
    assert moved.count("moved") == 3


def test_a_step_that_ends_nearly_all_work_mends_nothing() -> None:
    rights = {("0", "-1"): 10, ("1", "1"): 100}

    def stepped(more: object) -> int | None:
        assert isinstance(more, dict)
        return rights.get((more["SHRINK_MOVED"], more["SHRINK_MOVED_BY"]))

    assert too_lax("<>", stepped, 50) == {">"} and too_lax("<>", stepped, 5) == {"<", ">"}
    assert is_mended("<", "<>", stepped) and not is_mended("<=", "<>", stepped)


@pytest.mark.skipif(not (shutil.which("nvcc") and shutil.which("g++")), reason="nvcc and g++ are needed")
def test_a_guard_that_is_too_lax_by_one_stays(cpu: CpuTrial) -> None:
    """A reduction of sums of many sensors dropped `if (sensor > sensors) return;`, which its fix mends."""
    original = run(cpu, "if (row > rows || scale < 0.5f) return;", 7)
    assert original.lax == {">"}
    other = cpu.of_original(original)
    assert "stricter by one" in run(other, "", 7).lacking
    assert "stricter by one" in run(other, "", 6).lacking
    assert "stricter by one" in run(other, "for (; row < 0;) row = 0;", 6).lacking
    assert not run(other, "if (row > rows) return;", 6).lacking
    assert not run(other, "if (row > 40) return;", 7).lacking


@pytest.mark.skipif(not (shutil.which("nvcc") and shutil.which("g++")), reason="nvcc and g++ are needed")
def test_a_guard_that_no_step_mends_may_go(cpu: CpuTrial) -> None:
    """Nor one by a number that is no integer: a threshold is of the data."""
    original = run(cpu, "if (row >= rows + 3 || scale > 1.5f) return; if (scale < 0.5f) row -= 40;", 7)
    assert original.sight is not None and not original.lax
    assert not run(cpu.of_original(original), "", 6).lacking
