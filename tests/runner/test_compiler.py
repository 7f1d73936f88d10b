"""nvcc is asked for a kernel of one line before a reduction that needs it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from shrinkray_gpu.device import toolkit
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.job.asked import builds_cuda
from shrinkray_gpu.options import Options
from shrinkray_gpu.oracle import parse
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner import compiler

NVCC = toolkit.find("nvcc", sys.executable, os.environ)
with_nvcc = pytest.mark.skipif(NVCC is None, reason="no nvcc here")
KERNEL = "load_inline(cuda_sources='__global__ void k() {}')\n"
IMPORT = "from torch.utils.cpp_extension import load_inline\n"


@pytest.mark.parametrize(
    ("text", "arch", "oracle", "needed"),
    [
        (IMPORT + KERNEL, 90, "exit:1", True),
        (IMPORT + KERNEL, None, "exit:1", True),
        ("cupy.RawKernel('__global__ void k() {}', 'k')\n", 90, "exit:1", True),
        ("cupy.RawKernel('__global__ void k() {}', 'k')\n", None, "exit:1", False),
        ('"""Compiles to `__global__` code; see (1)."""\nimport triton\n', 90, "exit:1", False),
        ('SOURCE = f"""__global__ void __launch_bounds__({N}) k(float (*p)[2])\n{{ }}"""\n', 90, "exit:1", True),
        ("import kernels\n", 90, "build:spill", True),
        ("import kernels\n", 90, "exit:1", False),
    ],
)
def test_when_it_is_needed(text: str, arch: int | None, oracle: str, needed: bool) -> None:
    asked = parse(oracle, folder=Path())
    assert builds_cuda(Program.from_text(text), Options(arch=arch), asked) is needed


def test_none_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(toolkit, "TOOLKIT", tmp_path)
    nowhere = {"PATH": str(tmp_path), "CUDA_HOME": "", "CUDA_PATH": ""}
    with pytest.raises(UsageError, match="builds CUDA C\\+\\+: no nvcc on PATH.*: install the CUDA toolkit"):
        compiler.check(sys.executable, nowhere, 90)


@with_nvcc
def test_an_architecture_that_it_does_not_know() -> None:
    with pytest.raises(UsageError, match="'sm_20'. Take another --arch"):
        compiler.check(sys.executable, {}, 20)


def test_one_that_says_nothing(tmp_path: Path) -> None:
    nvcc = tmp_path / "bin" / "nvcc"
    nvcc.parent.mkdir()
    nvcc.write_text("#!/bin/sh\nexit 3\n")
    nvcc.chmod(0o755)
    with pytest.raises(UsageError, match="cannot: it ends with 3 and says nothing. Mend that first"):
        compiler.check(sys.executable, {"CUDA_HOME": str(tmp_path)}, 90)


@with_nvcc
def test_no_compiler_for_the_host(tmp_path: Path) -> None:
    home = next((each for each in Path("/usr/local").glob("cuda*") if (each / "bin" / "nvcc").exists()), None)
    if home is None:
        pytest.skip("nvcc is on PATH only")
    with pytest.raises(UsageError, match="Install g\\+\\+"):
        compiler.check(sys.executable, {"CUDA_HOME": str(home), "PATH": str(tmp_path)}, None)


@with_nvcc
def test_all_is_well() -> None:
    compiler.check(sys.executable, {}, None)
