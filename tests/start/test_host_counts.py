"""Counts of the host with another number of which a check passes: what computes them is marked, and nothing else."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from shrinkray_gpu.runner.run import Failure, Launch, Run
from shrinkray_gpu.start.argument_slice import HEAD, MARK, PARTS
from shrinkray_gpu.start.host_counts import MOST, with_counts_kept
from shrinkray_gpu.start.whole_program import passes_its_check

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
    asked: list[list[ast.Module]] = []

    def passing(texts: Sequence[str]) -> list[bool]:
        asked.append([*map(ast.parse, texts)])
        return ["range(0, (rounds) + 1)" in text for text in texts]

    found = marks(with_counts_kept(PROGRAM, passing))
    assert found == ["return n.bit_length() - 1" + MARK, "for step in range(0, rounds):" + HEAD], found
    assert [len(texts) for texts in asked] == [6], "each loop and all grids, each with two numbers, at a time"


def test_a_grid_that_decides_stays() -> None:
    found = marks(with_counts_kept(PROGRAM, lambda texts: ["size + 1 for size in" in text for text in texts]))
    assert len(found) == 1 and PARTS + "(x.numel() // 16,)" in found[0], found


def test_of_several_grids_only_those_that_decide_stay() -> None:
    two = PROGRAM.replace("    for again in", "    scale[(size // 8,)](out, size)\n    for again in", 1).replace(
        "def rounds_of", "@triton.jit\ndef scale(x, n):\n    pass\n\ndef rounds_of", 1
    )
    more = "for size in (grid(meta) if callable(grid) else grid)))(({}))"

    def passing(texts: Sequence[str]) -> list[bool]:
        return [more.format("(size // 8,)") in text for text in texts]

    found = marks(with_counts_kept(two, passing))
    assert len(found) == 1 and "(size // 8,)" in found[0], found


def test_where_no_count_decides_nothing_is_marked() -> None:
    assert with_counts_kept(PROGRAM, lambda texts: [False] * len(texts)) == ""


def test_a_launch_of_either_of_two_kernels_has_one_grid() -> None:
    text = PROGRAM.replace("add[(", "(add if size else sub)[(") + PROGRAM[: PROGRAM.index("def rounds_of")].replace(
        "add", "sub"
    )
    asked: list[str] = []
    with_counts_kept(text, lambda texts: [asked.append(other) is not None for other in texts])
    grids = [ast.parse(other) and other for other in asked if "for size in" in other]
    assert len(grids) == 2 and all(other.count("lambda meta") == 1 for other in grids), grids


def test_of_many_loops_the_rest_stays_unasked() -> None:
    """Each costs two runs of the program."""
    loops = "".join(f"    for at{n} in range(len(x) - {n}):\n        print(at{n})\n" for n in range(MOST))
    asked: list[str] = []

    def passing(texts: Sequence[str]) -> list[bool]:
        asked.extend(texts)
        return [False] * len(texts)

    found = marks(with_counts_kept(PROGRAM.replace("    return out\n", f"{loops}    return out\n"), passing))
    assert len(asked) == 2 * MOST + 2
    assert found == [f"for at{n} in range(len(x) - {n}):{HEAD}" for n in (MOST - 2, MOST - 1)], found


def test_a_launch_that_is_not_run_passes_no_check() -> None:
    """On the virtual GPU one that leaves its tensors writes what nobody knows, and any check of that passes."""
    launch = Launch("scale", "", (2,), (), interpreted=True)
    broken = Launch("scale", "", (4,), (), fault="an illegal memory access")
    assert passes_its_check(Run("virtual", 0, virtual=True, launches=(launch,)))
    assert not passes_its_check(Run("virtual", 0, virtual=True, launches=(launch, broken)))
    assert not passes_its_check(Run("virtual", 0, virtual=True, launches=(replace(launch, interpreted=False),)))
    failed = Failure("AssertionError", "apart")
    assert not passes_its_check(Run("virtual", 1, virtual=True, launches=(launch,), failure=failed))
    assert passes_its_check(Run("cold", 0, launches=(replace(launch, interpreted=False),)))
