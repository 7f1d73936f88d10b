"""A Python program that fails in a pass of the compiler has a second result: the same fault as IR."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.intermediate.ir_fault import IrFault
from shrinkray_gpu.job.second_result import same_failure
from shrinkray_gpu.runner.run import Run
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
FAILS = "a failure without words"
MONOTONIC = "expected `join` to be monotonic"


@pytest.fixture
def crash(tmp_path: Path) -> Path:
    pytest.importorskip("torch")
    (tmp_path / "crash.py").write_text(PROGRAM.replace("HINT", "-7"))
    return tmp_path


def test_the_same_fault_as_ir(crash: Path) -> None:
    said = shrink("crash.py", "--arch", "sm_90", *only("statements"), "--oracle", MONOTONIC, cwd=crash)
    assert said.code == 0, said.err
    assert "the same fault as IR" in said.err and "repro_crash.py.mlir (tritongpu-coalesce)" in said.err
    text = (crash / "repro_crash.py.mlir").read_text()
    assert text.startswith("// RUN: triton-opt %s -tritongpu-coalesce | FileCheck %s\n")
    assert "tt.contiguity = dense<-7>" in text
    again = shrink("replay", "repro_crash.py.mlir", cwd=crash)
    assert again.code == 0 and "still faults" in again.out


def test_the_time_of_the_search_counts_here_too_and_the_issue_has_the_result(crash: Path) -> None:
    words = ("--max-time", "0.01", *only("statements"), "--oracle", MONOTONIC)
    said = shrink("crash.py", "--arch", "sm_90", *words, cwd=crash, report=True)
    assert said.code == 0 and "the same fault as IR" in said.err, said.err
    text = (crash / "repro_crash.py.mlir").read_text()
    assert "tt.load" in text, "as it was before any search"
    issue = (crash / "crash.shrink" / "ISSUE.md").read_text()
    assert "[repro_crash.py.mlir](artifacts/repro_crash.py.mlir)" in issue and text.splitlines()[0] in issue
    assert (crash / "crash.shrink" / "artifacts" / "repro_crash.py.mlir").is_file()


def test_a_file_that_is_not_ours_stays(crash: Path) -> None:
    (crash / "repro_crash.py.mlir").write_text("mine\n")
    said = shrink("crash.py", "--arch", "sm_90", "--max-time", "0.01", "--oracle", MONOTONIC, cwd=crash)
    assert said.code == 0, said.err
    assert "which is not ours" in said.err and (crash / "repro_crash.py.mlir").read_text() == "mine\n"
    assert (crash / "repro_crash.py").is_file(), "the first result is there all the same"


def test_what_an_earlier_run_left_goes_and_a_result_of_ir_stays(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\nraise KeyError(x)\n")
    (tmp_path / "repro_a.py.mlir").write_text("// RUN: triton-opt %s -cse\n// Fault: cse: of another day\nmodule {}\n")
    of_ir = (tmp_path / "repro_a.py.mlir").rename(tmp_path / "repro_a.mlir")  # as `shrink a.ttir` calls its own
    (tmp_path / "repro_a.py.mlir").write_text(of_ir.read_text())
    said = shrink("a.py", "--oracle", "exception:KeyError", cwd=tmp_path)
    assert said.code == 0, said.err
    assert sorted(path.name for path in tmp_path.glob("repro_a.*")) == ["repro_a.mlir", "repro_a.py"]


@pytest.mark.parametrize(
    ("run", "fault", "same"),
    [
        (Run("cold", None, signal=11), IrFault("p", "signal SIGSEGV", ""), True),
        (Run("cold", None, signal=11), IrFault("p", "signal SIGABRT", ""), False),
        (Run("cold", None, signal=11), IrFault("p", "assertion", "x > 0", "a.cpp"), False),
        (Run("cold", 1, stderr="RuntimeError: PassManager::run failed"), IrFault("p", FAILS, ""), True),
        (Run("cold", 1, stderr="RuntimeError: PassManager::run failed"), IrFault("p", "error", "words"), False),
        (Run("cold", 1, stderr="ValueError: of the frontend"), IrFault("p", FAILS, ""), False),
        (Run("cold", 1, stderr="a.mlir:1:1: error: 3 uses\n"), IrFault("p", "error", "_ uses"), True),
        (Run("cold", 1, stderr="a.mlir:1:1: error: 3 uses\n"), IrFault("p", "error", "_ users"), False),
    ],
)
def test_a_fault_without_words_is_the_same_by_its_signal_only(run: Run, fault: IrFault, same: bool) -> None:
    assert same_failure(run, fault) is same
