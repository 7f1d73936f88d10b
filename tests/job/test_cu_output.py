"""What the program of a .cu shows is judged as the script's own end is (a shell script stands in for the binary); and
what builds it, by flags that a candidate told, may write where a candidate may."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from shrinkray_gpu.job import cu_output
from shrinkray_gpu.job.cu_output import _run, make
from shrinkray_gpu.options import Options
from shrinkray_gpu.oracle import Oracle, parse
from shrinkray_gpu.runner.inside.process import landlock
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Build, Failure, Run

WORDS = "CUDA error: misaligned address"
SHOWN = Run("cold", 1, failure=Failure("torch.AcceleratorError", WORDS), driver_error=716)


def setup_in(folder: Path, arch: int | None = None) -> Setup:
    (kept := folder / "builds").mkdir(exist_ok=True)
    return Setup(
        sys.executable, dict(os.environ), imports=(), own=(), scratch=str(folder), writable=(str(kept),), arch=arch
    )


def judged(folder: Path, oracle: Oracle, printed: str, status: int) -> str:
    binary = folder / "repro"
    binary.write_text(f"#!/bin/sh\necho '{printed}'\nexit {status}\n")
    binary.chmod(0o755)
    made = Run("plain", 0, builds=(Build("repro.cu"),))
    setup = setup_in(folder)
    verdict = oracle.judge(_run(binary, made, oracle, setup, Options(python=sys.executable)))
    return "faults" if verdict.faults else verdict.why


def test_an_error_that_main_tells_is_the_script_s(tmp_path: Path) -> None:
    oracle = parse("misaligned address", folder=tmp_path).calibrate(SHOWN)
    assert judged(tmp_path, oracle, "CUDA error 716: misaligned address", 1) == "faults"
    assert "another error" in judged(tmp_path, oracle, "CUDA error 700: an illegal memory access", 1)
    assert "it ends well" in judged(tmp_path, oracle, "CUDA error 0: no error", 0)


EXTENSION = '''
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>

__global__ void double_all(float* x) {{ x[threadIdx.x] *= 2.0f; }}

void run(torch::Tensor x) {{ double_all<<<1, 32>>>(x.data_ptr<float>()); }}
"""
extension = load_inline(
    "doubled", "void run(torch::Tensor x);", SOURCE, functions=["run"], extra_cuda_cflags=["-ccbin", "{compiler}"]
)
extension.run(torch.ones(32, device="cuda"))
'''


@pytest.mark.parametrize("flag", ["-DA=1\nint smuggled;", "-DA=1\r", "-DA=\u2028B"])
def test_a_flag_that_is_no_line_of_text_has_no_cu(tmp_path: Path, flag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command stands in a comment, and a candidate told the flag: behind the line's end it would be code."""
    monkeypatch.setattr(cu_output, "calls", lambda *asked: (Build("repro.cu", flags=(flag,)),))
    monkeypatch.setattr(cu_output, "can_parse", lambda: True)
    monkeypatch.setattr(cu_output.toolkit, "find", lambda *asked: tmp_path / "nvcc")
    with closing(Pool(Script(tmp_path / "script.py"), setup_in(tmp_path, 90), mode="cold", jobs=1, seconds=1)) as pool:
        told = make("", tmp_path / "repro.py", cast(Any, SimpleNamespace(pool=pool)), Options(arch=90))
    assert told == "no .cu: a flag of its build is no line of text" and not (tmp_path / "repro.cu").exists()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None or importlib.util.find_spec("torch") is None, reason="no nvcc here")
@pytest.mark.skipif(landlock.level() < 1, reason="no Landlock here")
def test_a_program_that_flags_name_writes_as_a_candidate(tmp_path: Path) -> None:
    compiler, seen, scratch = tmp_path / "g++", tmp_path / "seen", tmp_path / "scratch"
    scratch.mkdir()
    seen.mkdir()
    compiler.write_text(f'#!/bin/sh\necho out > "{seen}/$$"\necho in > "$TMPDIR/written"\nexec g++ "$@"\n')
    compiler.chmod(0o755)
    text = EXTENSION.format(compiler=compiler)
    script = Script(tmp_path / "script.py", cwd=tmp_path)
    options = Options(python=sys.executable, arch=90)
    with closing(Pool(script, setup_in(scratch, 90), mode="fork", jobs=1, seconds=60.0, extra=0.0)) as pool:
        plan: Any = SimpleNamespace(pool=pool, oracle=parse("misaligned address", folder=tmp_path).calibrate(SHOWN))
        told = make(text, tmp_path / "repro.py", plan, options)
    assert told == f"{tmp_path / 'repro.cu'} builds with plain nvcc, and what it shows takes a GPU"
    assert f"-ccbin {compiler}" in (tmp_path / "repro.cu").read_text()
    assert not any(seen.iterdir()) and not any(each.name.startswith("t") for each in scratch.iterdir())
