"""An extension without torch's headers: tensors and numbers there and back, errors as exceptions, each source once."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        not (shutil.which("nvcc") or os.access("/usr/local/cuda/bin/nvcc", os.X_OK)), reason="no nvcc here"
    ),
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch here"),
]

SITE = Path(__file__).parents[3] / "shrinkray_gpu" / "runner" / "inside" / "site"
SCRIPT = '''
import torch
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>
__global__ void fill(float* p, int n) { if (threadIdx.x < n) p[threadIdx.x] = 1; }
torch::Tensor scale(const torch::Tensor& x, double factor, int64_t more) {
  TORCH_CHECK(x.dim() == 2, "two dimensions");
  torch::Tensor out = torch::zeros_like(x);
  for (int64_t i = 0; i < x.numel(); ++i)
    out.data_ptr<float>()[i] = x.data_ptr<float>()[i] * factor + more + x.size(-1);
  return out;
}
int64_t count(torch::Tensor x) { return x.numel(); }
"""
ext = load_inline(
    "x", "torch::Tensor scale(const torch::Tensor& x, double factor, int64_t more); int64_t count(torch::Tensor x);",
    source, functions=["scale", "count"],
)
x = torch.arange(6.0).view(2, 3)
print(type(ext).__module__.rpartition(".")[2], ext.scale(x, 2.0, 1).tolist(), ext.count(x))
for call in (lambda: ext.scale(x[0], 1.0, 1), lambda: ext.count(x, 1), lambda: ext.nothing(x)):
    try:
        call()
    except (RuntimeError, AttributeError) as error:
        print(type(error).__name__, error)
'''


def test_a_source_is_built_once_and_behaves_as_torch_builds_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    cache = tmp_path / "cache"
    environment = {**os.environ, "PYTHONPATH": str(SITE), "SHRINKRAY_GPU_CACHE": str(cache)}
    seen = []
    for _ in range(2):
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == [
            "plain_library [[4.0, 6.0, 8.0], [10.0, 12.0, 14.0]] 6",
            "RuntimeError check failed: x.dim() == 2",
            "RuntimeError incompatible function arguments",
            "AttributeError the extension has no function 'nothing'",
        ]
        seen.append(sorted(path.stat().st_mtime_ns for path in cache.rglob("outcome.json")))
    assert len(seen[0]) == 1 and seen[0] == seen[1]
