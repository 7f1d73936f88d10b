"""Counts of the host with another number of which a check passes: what computes them is marked, and nothing else."""

from __future__ import annotations

import ast

from shrinkray_gpu.start.argument_slice import HEAD, MARK, PARTS
from shrinkray_gpu.start.host_counts import with_counts_kept

PROGRAM = """\
@triton.jit
def add(x, out, n, BLOCK: tl.constexpr):
    for step in range(n):
        pass

def rounds_of(n):
    return n.bit_length() - 1

def total(x):
    rounds = rounds_of(x.numel())
    size = len(x)
    for step in range(0, rounds):
        out = torch.empty_like(x)
        add[(x.numel() // 16,)](x, out, size, BLOCK=16)
    for again in range(size):
        print(out)
    for number in range(3):
        print(number)
    return out

assert torch.equal(total(torch.ones(20)), 20)
"""


def marks(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if MARK in line]


def test_the_end_of_a_loop_that_decides_stays_with_what_computes_it() -> None:
    asked: list[str] = []

    def passes(text: str) -> bool:
        ast.parse(text)
        asked.append(text)
        return "range(0, (rounds) + 1)" in text

    found = marks(with_counts_kept(PROGRAM, passes))
    assert found == ["return n.bit_length() - 1" + MARK, "for step in range(0, rounds):" + HEAD], found
    assert len(asked) == 1 + 2 + 2, "the loop that decides, the other one and all grids, each with two numbers at most"


def test_a_grid_that_decides_stays() -> None:
    found = marks(with_counts_kept(PROGRAM, lambda text: "size + 1 for size in" in text))
    assert len(found) == 1 and PARTS + "(x.numel() // 16,)" in found[0], found


def test_where_no_count_decides_nothing_is_marked() -> None:
    assert with_counts_kept(PROGRAM, lambda text: False) == ""
