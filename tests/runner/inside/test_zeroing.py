"""The knob `zeroed-shared`: which kernels get a beginning, and that it compiles. What it does is in tests/gpu."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from shrinkray_gpu.runner.inside.cuda_cpp import zeroing

SOURCE = r"""
__global__ void declared(int* x);  // of a __global__ function (
struct Pair { int a, b; };
template <int N>
__global__ void __launch_bounds__(N * 32) first(int (*x)[4], Pair pair) {
  __shared__ int mine[N];
  mine[threadIdx.x] = x[0][0];
}
extern "C" __global__ void second(int* x) { extern __shared__ char raw[]; x[0] = raw[0]; }
const char* text = "__global__ void none() {";
template __global__ void first<2>(int (*)[4], Pair);
"""


@pytest.fixture
def knob() -> Iterator[None]:
    zeroing.turn()
    yield
    zeroing.end()


@pytest.mark.usefixtures("knob")
def test_each_kernel_gets_a_beginning_on_the_line_of_its_brace() -> None:
    made = zeroing.zero_shared_memory(SOURCE)
    assert zeroing.end() == 2
    assert made.count("\n") == SOURCE.count("\n")
    at = [number for number, line in enumerate(made.splitlines()) if "%%total_smem_size" in line]
    assert at == [4, 8]
    assert made.replace(zeroing._ZEROS, "") == SOURCE


def test_nothing_is_changed_unless_it_is_turned() -> None:
    assert zeroing.zero_shared_memory(SOURCE) == SOURCE


@pytest.mark.usefixtures("knob")
def test_what_declares_no_shared_memory_stays_and_is_not_counted() -> None:
    plain = "__global__ void k(int* x) { *x = 1; }"
    assert zeroing.zero_shared_memory(plain) == plain
    assert zeroing.end() == 0


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc here")
@pytest.mark.usefixtures("knob")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_it_compiles(tmp_path: Path, arch: str) -> None:
    (tmp_path / "a.cu").write_text(zeroing.zero_shared_memory(SOURCE))
    command = ["nvcc", f"-arch={arch}", "-cubin", "-o", str(tmp_path / "a.cubin"), str(tmp_path / "a.cu")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
