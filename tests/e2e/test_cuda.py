"""CUDA C++ beside its Python driver, compiled for a GPU that is not there: what nvcc warns of is what persists."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from pathlib import Path

import pytest

from tests.e2e.command import only, shrink

NVCC = shutil.which("nvcc") or ("/usr/local/cuda/bin/nvcc" if os.access("/usr/local/cuda/bin/nvcc", os.X_OK) else None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(NVCC is None, reason="no nvcc here"),
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch here"),
]

PASSES = (
    "cuda_conditionals", "cuda_slices", "cuda_unreachable", "cuda_inlining", "cuda_unread", "cuda_branches",
    "cuda_constants", "cuda_layout", "constants", "inlining",
)  # fmt: skip
"""Those that find something before the last tokens: each try is a build."""

PROGRAM = '''
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>
#include <mma.h>

#define TILE 16

// One product of two tiles a warp.
__device__ void multiply(const half* row, const half* tile, float* out) {
  using namespace nvcuda;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
#ifdef USE_WMMA
  wmma::load_matrix_sync(a, row, TILE);
#endif
  out[0] = __half2float(a.x[0]);
}

__global__ void product(const half* x, const half* y, float* out, int n) {
  half local[TILE * TILE];
  for (int i = 0; i < TILE * TILE; ++i) {
    local[i] = x[i];
  }
  if (n > 0) {
    multiply(local, y, out);
  }
}

torch::Tensor run(torch::Tensor x, torch::Tensor y) {
  auto out = torch::zeros({TILE, TILE}, x.options().dtype(torch::kFloat32));
  product<<<1, 32>>>((const half*)x.data_ptr(), (const half*)y.data_ptr(), out.data_ptr<float>(), 1);
  return out;
}
"""


def main():
    flags = ["-O3", "-DUSE_WMMA"]
    extension = load_inline(
        "product", "torch::Tensor run(torch::Tensor x, torch::Tensor y);", SOURCE,
        functions=["run"], extra_cuda_cflags=flags,
    )
    x = torch.ones(16, 16, device="cuda", dtype=torch.float16)
    print(extension.run(x, x).shape)


main()
'''


def test_a_warning_of_nvcc_is_reduced_in_both_languages(tmp_path: Path) -> None:
    script, output = tmp_path / "product.py", tmp_path / "repro.py"
    script.write_text(PROGRAM)
    oracle = "build:cannot perform wmma load or store on local memory"
    words = ("--arch", "sm_90", "--oracle", oracle, "--output", output, "--cu", *only(*PASSES))
    done = shrink(script, *words, cwd=tmp_path)
    assert done.code == 0, done
    text = output.read_text()
    assert re.search(r"half (\w+)\[.*\];.*load_matrix_sync\(\w+, \1, ", text, re.DOTALL), "a local array is loaded"
    assert re.search(r"__global__ void (\w+)\(.*\b\1<<<", text, re.DOTALL), "by a kernel that is launched"
    assert re.search(r"\.run\(", text), "from Python"
    assert f"{output.with_suffix('.cu')} builds with plain nvcc, and shows the same" in done.out
    assert "#ifdef" not in text and "//" not in text and "TILE" not in text
    assert sum(1 for line in text.splitlines() if line.strip()) <= 20, text
