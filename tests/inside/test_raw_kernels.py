"""Kernels given to NVRTC as text: compiled for a GPU that is not there, and their calls seen."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from shrinkray_gpu.runner.inside.builds import Builds

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        not (shutil.which("nvcc") or os.access("/usr/local/cuda/bin/nvcc", os.X_OK)), reason="no nvcc here"
    ),
    pytest.mark.skipif(not hasattr(torch.cuda, "_compile_kernel"), reason="this torch gives NVRTC no text"),
]
SOURCE = 'extern "C" __global__ void fill(float* p) { float unused; p[threadIdx.x] = 1; }'


def test_a_kernel_of_torch_s_own_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "_compile_kernel", torch.cuda._compile_kernel)  # put back at the end
    builds = Builds(str(tmp_path), 90)
    builds.watch()
    kernel = torch.cuda._compile_kernel(SOURCE, "fill")
    assert [build["launched"] for build in builds.seen] == [[]]
    kernel((1, 1, 1), (32, 1, 1), (torch.empty(32),))
    (build,) = builds.seen
    assert build["launched"] == ["fill"] and not build["failed"]
    assert 'variable "unused" was declared but never referenced' in build["printed"]
    with pytest.raises(RuntimeError, match="named symbol not found: other"):
        torch.cuda._compile_kernel(SOURCE, "other")
    with pytest.raises(RuntimeError, match="identifier"):
        torch.cuda._compile_kernel(SOURCE.replace("= 1", "= n"), "fill")
