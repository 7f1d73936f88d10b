"""Kernels start on line 1 for their cache; what a person reads of them has the lines of the file."""

from __future__ import annotations

import re

from shrinkray_gpu.runner.inside.static.rules import ASKED
from tests.runner.inside.conftest import Play

WANTS = frozenset({ASKED + "bounds"})
PROGRAM = """\
import torch
import triton
import triton.language as tl


@triton.jit
def fetch(values,
          at):
    \"\"\"What is there.\"\"\"
    return tl.load(values + at)  # in a helper


def make():
    @triton.jit
    def once_more(values, at):
        return tl.load(values + at)  # in one that is passed

    return once_more


@triton.jit
def kernel(values, few, less, out, BLOCK: tl.constexpr, read: tl.constexpr):
    at = tl.arange(0, BLOCK)
    found = tl.load(values + at) + fetch(few, at) + read(less, at)  # in the kernel
    tl.store(out + at, found)


values, few, less, out = (torch.ones(size, device="cuda") for size in (8, 9, 10, 16))
kernel[(1,)](values, few, less, out, 16, make())
torch.cuda.synchronize()
"""
MLIR = """\
import torch
import triton
import triton.language as tl


@triton.jit
def twice(x):
    return x * 2


@triton.jit
def kernel(x_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = twice(tl.load(x_ptr + at))
    tl.store(x_ptr + at, tl.inline_asm_elementwise("no.such $0;", "=r,r", [x], tl.int32, True, 3))


x = torch.zeros(64, dtype=torch.int32, device="cuda")
kernel[(1,)](x, 64)
"""


def numbered(program: str, words: str) -> int:
    return next(at for at, line in enumerate(program.splitlines(), 1) if words in line)


def test_an_access_is_told_by_its_line_in_the_file(play: Play) -> None:
    said = play(PROGRAM, wants=WANTS)
    [launch] = said.launches
    places = sorted(int(cause["at"].split(":")[1]) for cause in launch["causes"])
    marks = ("# in a helper", "# in one that is passed", "# in the kernel")
    assert places == [numbered(PROGRAM, mark) for mark in marks]
    first = numbered(PROGRAM, "# in the kernel")
    assert "reaches byte 60 of a tensor of 32" in launch["fault"] and f"script.py:{first}:" in launch["fault"]


def test_a_run_that_asks_for_the_true_lines_is_told_the_same(play: Play) -> None:
    usual, true = (play(PROGRAM, wants=wants).launches[0] for wants in (WANTS, WANTS | {"lines"}))
    assert usual["causes"] == true["causes"] and usual["fault"] == true["fault"]
    assert usual["hash"] != true["hash"]


def test_what_is_above_a_kernel_does_not_compile_it_again(play: Play) -> None:
    first, second = (play(text, wants=WANTS).launches[0] for text in (PROGRAM, "import os\n" + PROGRAM))
    assert first["hash"] == second["hash"] and first["fault"] != second["fault"]


def test_what_mlir_says_has_the_line_of_the_file(play: Play) -> None:
    [compiled] = play(MLIR).compiles
    found = re.search(r"script\.py:(\d+):\d+: error: number of input elements", compiled["printed"])
    assert found is not None and int(found.group(1)) == numbered(MLIR, "inline_asm")


TWO_ALIKE = """\
import torch
import triton
import triton.language as tl


@triton.jit
def asked(x):
    return tl.inline_asm_elementwise("no.such $0;", "=r,r", [x], tl.int32, True, 3)


@triton.jit
def kernel(x_ptr, BLOCK: tl.constexpr):
READ BLOCK))
    tl.store(x_ptr + tl.arange(0, BLOCK), asked(read))


x = torch.zeros(64, dtype=torch.int32, device="cuda")
kernel[(1,)](x, 64)
"""


def test_a_place_that_may_be_in_either_function_has_no_line(play: Play) -> None:
    column = next(line.rindex("3)") for line in TWO_ALIKE.splitlines() if "no.such" in line)
    read = "    read = tl.load(x_ptr + tl.arange(0,".ljust(column)
    [compiled] = play(TWO_ALIKE.replace("READ ", read)).compiles
    assert "script.py: error: number of input elements" in compiled["printed"]
