"""A program that fails in AMD's backend, reduced without a GPU by Triton of PyPI."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.job.asked import oracle_of
from shrinkray_gpu.options import Options
from shrinkray_gpu.runner import compiler
from tests.e2e.command import only, shrink

PROGRAM = """\
import torch
import triton
import triton.language as tl

OPTIONS = {"waves_per_eu": 2} if torch.version.hip else {"maxnreg": 64}


@triton.jit
def kernel(a, b, out):
    i = tl.arange(0, 4)
    row = tl.where(i == 1, b, a + i * 0)
    tl.store(out + i, tl.load(row + i))


tensors = [torch.zeros(8, device="cuda") for _ in range(3)]
kernel[(1,)](*tensors, **OPTIONS)
torch.cuda.synchronize()
"""
FAILS = "argument of incompatible type"


def test_a_fault_of_amds_backend(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "crash.py").write_text(PROGRAM)
    said = shrink("crash.py", "--arch", "gfx942", *only("statements"), "--oracle", FAILS, cwd=tmp_path)
    assert said.code == 0, said.err
    assert "compile fault: TritonAMDGPUCanonicalizePointers" in said.out
    assert "under controls: no-buffer-ops passes" in said.out
    assert "repro_crash.py.mlir (tritonamdgpu-canonicalize-pointers)" in said.err
    assert "tl.where" in (tmp_path / "repro_crash.py").read_text()


@pytest.mark.parametrize("spec", ["static:tma-alignment", "misaligned address"])
def test_a_question_about_nvidias_hardware_is_refused(spec: str) -> None:
    with pytest.raises(UsageError, match="about NVIDIA's hardware, and --arch gfx942 is AMD's"):
        oracle_of(Options(oracle=(spec,), arch=0x942))


def test_cuda_is_not_compiled_for_amd() -> None:
    with pytest.raises(UsageError, match="CUDA C.* not compiled for gfx942"):
        compiler.check("python", {}, 0x942)
