"""Wrong results by the real command: kernels in Triton's interpreter, which runs them on the CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.reduction.size import lines
from tests.e2e.command import only, shrink, well

HEAD = """
import os
import torch
import triton
import triton.language as tl

"""
WRONG = (
    HEAD
    + """
@triton.jit
def row_sum(x_ptr, out_ptr, n, SPLIT: tl.constexpr):
    cols = tl.arange(0, 16)
    x = tl.load(x_ptr + cols, mask=cols < n - (SPLIT - 1), other=0.0)
    tl.store(out_ptr, tl.sum(x))


x = torch.randn(10)
total = torch.empty(1)
row_sum[(1,)](x, total, 10, SPLIT=int(os.environ.get("SPLIT", "2")))
assert torch.allclose(total, x.sum())
"""
)
"""With SPLIT=1 all is well. Lures: an assertion that almost anything keeps failing, a mask without which the kernel
reads what lies behind its tensor, memory that nobody wrote."""

CHANCE = (
    HEAD
    + """
@triton.jit
def race(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, x + winner, mask=i < n)


winner = int.from_bytes(os.urandom(3), "big")
x, out = torch.randn(8), torch.empty(8)
print(x.sum())
race[(1,)](x, out, 8, BLOCK=8)
print(out)
"""
)
"""The interpreter runs a kernel's body as Python: the global stands in for a race."""


ON_THE_CPU = ("--env", "TRITON_INTERPRET=1")
SHORT = only("statements", "constants", "unreachable")
"""All that the two programs need: a try is two or three runs in the interpreter."""


@pytest.fixture(autouse=True)
def _libraries() -> None:
    pytest.importorskip("triton")


def given(folder: Path, text: str) -> Path:
    (folder / "failing.py").write_text(text)
    return folder / "repro_failing.py"


@pytest.mark.slow
def test_a_wrong_result_keeps_its_kernel(tmp_path: Path) -> None:
    repro = given(tmp_path, WRONG)
    said = well(shrink("failing.py", "--oracle", "differs:SPLIT=1:wrong", *SHORT, *ON_THE_CPU, cwd=tmp_path))
    text = repro.read_text()
    assert "SPLIT=1 and as it is disagree: kernel row_sum, launch 0, argument out_ptr: wrong" in said.out + said.err
    assert lines(text) <= 10 and "tl.store" in text and "assert" not in text, text
    shown = next(line for line in said.out.splitlines() if "shows the fault: " in line)
    assert "--check" in shown and "differs:SPLIT=1:wrong" in shown


@pytest.mark.slow
def test_what_differs_from_run_to_run(tmp_path: Path) -> None:
    repro = given(tmp_path, CHANCE)
    said = well(shrink("failing.py", "--oracle", "nondeterministic:2", *SHORT, *ON_THE_CPU, cwd=tmp_path))
    text = repro.read_text()
    assert "two runs disagree: kernel race, launch 0, argument out_ptr" in said.out + said.err
    assert "urandom" in text and "tl.store" in text and "print" not in text, text


def test_a_failing_assertion_is_told_to_be_weak(tmp_path: Path) -> None:
    given(tmp_path, "import json\nassert json is None\n")
    said = well(shrink("failing.py", "--oracle", "exception:AssertionError", cwd=tmp_path))
    assert "weak oracle" in said.err and "differs:" in said.err
