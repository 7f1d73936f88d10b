"""Mistakes that show only with what an earlier kernel wrote, reduced without a GPU: their cure cures the repro."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.oracle import Answer
from shrinkray_gpu.runner.inside.launches.launch_log import INTERPRETED
from tests.e2e.command import only, shrink
from tests.e2e.conftest import Judged

INDEX = '''\
"""The last row of each sequence, marked."""

import torch
import triton
import triton.language as tl


@triton.jit
def ends_kernel(lengths, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.cumsum(tl.load(lengths + i, mask=i < n, other=0), axis=0), mask=i < n)


@triton.jit
def mark_kernel(rows, out, value):
    row = tl.load(rows + tl.program_id(0))
    tl.store(out + row, value)


def last_rows(lengths):
    ends = torch.empty_like(lengths)
    ends_kernel[(1,)](lengths, ends, lengths.numel(), BLOCK=8)
    return ends


lengths = torch.tensor([3, 5, 2, 6], dtype=torch.int32, device="cuda")
marks = torch.zeros(int(lengths.sum()), device="cuda")
mark_kernel[(lengths.numel(),)](last_rows(lengths), marks, 1.0)
torch.cuda.synchronize()
print(marks.sum().item())
'''
COUNT = '''\
"""The elements above a threshold, counted by one kernel and numbered by another."""

import torch
import triton
import triton.language as tl


@triton.jit
def count_kernel(x, out, threshold, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    above = tl.load(x + i, mask=i < n, other=0.0) > threshold
    tl.store(out, tl.sum(above.to(tl.int32), axis=0))


@triton.jit
def number_kernel(out, first):
    i = tl.program_id(0)
    tl.store(out + i, i + first)


x = torch.arange(100, device="cuda").float()
found = torch.zeros(1, dtype=torch.int32, device="cuda")
count_kernel[(1,)](x, found, 39.5, 100, BLOCK=128)
n = int(found[0])
numbers = torch.empty(n - 1, dtype=torch.int32, device="cuda")
number_kernel[(n,)](numbers, 7)
torch.cuda.synchronize()
assert numbers.numel() > 0
'''
ASKED = ("--arch", "sm_90", "--oracle", "illegal memory access")


@pytest.mark.parametrize(
    ("program", "wrong", "right", "kernel"),
    [(INDEX, "return ends\n", "return ends - 1\n", "ends_kernel"), (COUNT, "(n - 1,", "(n,", "count_kernel")],
    ids=["an index", "a count that the host reads"],
)
def test_what_a_kernel_wrote_decides(
    tmp_path: Path, program: str, wrong: str, right: str, kernel: str, judged: Judged
) -> None:
    (tmp_path / "failing.py").write_text(program)
    said = shrink("failing.py", *ASKED, *only("definitions", "statements"), cwd=tmp_path)
    assert said.code == 0 and "Triton's interpreter runs kernels here" in said.out + said.err
    repro = (tmp_path / "repro_failing.py").read_text()
    assert wrong in repro and program[program.index(f"def {kernel}") :].split("\n\n\n")[0] in repro
    as_it_is, cured = (judged(text, "static:bounds", INTERPRETED) for text in (repro, repro.replace(wrong, right)))
    assert as_it_is.faults and cured.answer is Answer.PASSES, (as_it_is, cured)


PARTS = """\
import os

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl


@triton.jit
def parts_kernel(layers, counts, amount, BINS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    layer = tl.load(layers + at, mask=at < amount, other=0)
    found = tl.sum((layer[:, None] == tl.arange(0, BINS)[None, :]).to(tl.int32), axis=0)
    tl.store(counts + tl.arange(0, BINS), found)


def by_layer(energies, layers):
    counts = torch.empty(4, dtype=torch.int32)
    parts_kernel[(1,)](layers, counts, layers.numel(), BINS=4, BLOCK=16)
    order = layers.argsort()
    print("sorted", order.numel())
    return energies[order].split(counts.tolist())


for amount in (16, 10):
    energies = torch.arange(amount, dtype=torch.float32)
    layers = torch.arange(amount, dtype=torch.int32) % 4
    print([part.sum().item() for part in by_layer(energies, layers)])
"""


def test_an_error_whose_numbers_a_kernel_makes_is_its_own_though_zeros_fail_in_the_same_words(
    tmp_path: Path, judged: Judged
) -> None:
    (tmp_path / "failing.py").write_text(PARTS)
    words = "split_with_sizes expects"
    said = shrink("failing.py", "--oracle", words, *only("definitions", "statements"), cwd=tmp_path)
    assert said.code == 0 and "hangs on what its kernels compute" in said.out + said.err
    repro = (tmp_path / "repro_failing.py").read_text()
    assert "sorted" not in repro
    as_it_is, cured = (judged(text, words) for text in (repro, repro.replace("amount, other=0)", "amount, other=-1)")))
    assert as_it_is.faults and cured.answer is Answer.PASSES, (as_it_is, cured)


def test_where_nobody_sees_which_kernel_an_error_hangs_on_all_stay(tmp_path: Path, judged: Judged) -> None:
    """Nobody sees in the text which kernel is launched here. With zeros for what kernels write the numbers are others,
    so it hangs on one."""
    launch = "parts_kernel[(1,)]"
    hidden = PARTS.replace(launch, "globals()['parts_kernel'][(1,)]").replace("print([part", "([part")
    assert hidden.count("globals()") == 1
    (tmp_path / "failing.py").write_text(hidden)
    words = "split_with_sizes expects"
    said = shrink("failing.py", "--oracle", words, *only("statements", "definitions"), cwd=tmp_path)
    assert said.code == 0 and "hangs on what its kernels compute" in said.out + said.err
    repro = (tmp_path / "repro_failing.py").read_text()
    assert "sorted" not in repro and "globals()" in repro
    as_it_is, cured = (judged(text, words) for text in (repro, repro.replace("amount, other=0)", "amount, other=-1)")))
    assert as_it_is.faults and cured.answer is Answer.PASSES, (as_it_is, cured)


def test_a_program_that_reads_such_memory_itself_is_reduced_all_the_same(tmp_path: Path) -> None:
    """Its kernel leaves an element out, which is its bug."""
    stored = "counts + tl.arange(0, BINS), found"
    own = PARTS.replace(f"{stored})", f"{stored}, tl.arange(0, BINS) < 3)")
    check = "    assert counts.sum() == layers.numel(), 'hits are lost'\n    return energies[order]"
    own = own.replace("    return energies[order]", check).replace("split(counts.tolist())", "split(2)")
    (tmp_path / "failing.py").write_text(own)
    said = shrink("failing.py", "--oracle", "hits are lost", *only("statements", "definitions"), cwd=tmp_path)
    assert said.code == 0, said
    repro = (tmp_path / "repro_failing.py").read_text()
    assert "sorted" not in repro and "torch.empty(4" in repro, repro
