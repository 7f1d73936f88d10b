"""A Python program that fails in a pass of the compiler has a second result: the same fault as IR."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.command import only, shrink

PROGRAM = """\
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, n, BLOCK: tl.constexpr):
    offs = tl.max_contiguous(tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), HINT)
    tl.store(x + offs, tl.load(x + offs, mask=offs < n) + 1, mask=offs < n)


x = torch.zeros(1024, device="cuda")
kernel[(1,)](x, 1024, BLOCK=1024)
"""
MONOTONIC = "expected `join` to be monotonic"


@pytest.fixture
def crash(tmp_path: Path) -> Path:
    pytest.importorskip("torch")
    (tmp_path / "crash.py").write_text(PROGRAM.replace("HINT", "-7"))
    return tmp_path


def test_the_same_fault_as_ir(crash: Path) -> None:
    said = shrink("crash.py", "--arch", "sm_90", *only("statements"), "--oracle", MONOTONIC, cwd=crash)
    assert said.code == 0, said.err
    assert "the same fault as IR" in said.err and "repro_crash.mlir (tritongpu-coalesce)" in said.err
    text = (crash / "repro_crash.mlir").read_text()
    assert text.startswith("// RUN: triton-opt %s -tritongpu-coalesce\n") and "tt.contiguity = dense<-7>" in text
    again = shrink("replay", "repro_crash.mlir", cwd=crash)
    assert again.code == 0 and "still faults" in again.out


def test_a_file_that_is_not_ours_stays(crash: Path) -> None:
    (crash / "repro_crash.mlir").write_text("mine\n")
    said = shrink("crash.py", "--arch", "sm_90", *only("statements"), "--oracle", MONOTONIC, cwd=crash)
    assert said.code == 0, said.err
    assert "which is not ours" in said.err and (crash / "repro_crash.mlir").read_text() == "mine\n"
    assert (crash / "repro_crash.py").is_file(), "the first result is there all the same"
