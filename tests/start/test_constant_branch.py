"""Branches that are decided when the kernel is compiled, one side of which masks less."""

from __future__ import annotations

import ast
from dataclasses import replace
from textwrap import dedent

import pytest

from shrinkray_gpu.oracle.cause_check import LaunchCauses
from shrinkray_gpu.runner.inside.static import cause as kinds
from shrinkray_gpu.runner.inside.static.cause import Cause
from shrinkray_gpu.runner.run import Launch, Run
from shrinkray_gpu.start.argument_slice import HEAD, MARK
from shrinkray_gpu.start.constant_branch import behind_access, constant_branch
from shrinkray_gpu.start.host_slice import made_by_host, with_slice_kept

PROGRAM = dedent("""\
    @triton.heuristics({"EVEN": lambda args: args["n"] % 2 == 0})
    @triton.jit
    def kernel(x, y, n, EVEN: tl.constexpr, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        if EVEN:
            part = tl.load(x + at)
        else:
            part = tl.load(x + at, mask=at < n)
        tl.store(y + at, part, mask=at < n)

    x = torch.zeros(6)
    kernel[(1,)](x, torch.zeros(8), 6, BLOCK=8)
    """)
EVEN = 6
"""The line of the access without a mask."""


def branch(old: str = "", new: str = "", *, line: int = EVEN) -> list[str]:
    [kernel] = [each for each in ast.walk(ast.parse(PROGRAM.replace(old, new))) if isinstance(each, ast.FunctionDef)]
    found = constant_branch(kernel, line)
    return [] if found is None else [ast.unparse(each) for each in (found.test.test, *found.accesses)]


def test_what_an_access_hangs_on_is_found_through_helpers_and_unrolled_loops() -> None:
    """What is stored there decides nothing of where that is."""
    tree = ast.parse(
        dedent("""\
        @triton.jit
        def put(at, value, kept, REACH: tl.constexpr):
            for tap in tl.static_range(REACH):
                tl.store(at + tap, value, kept)

        @triton.jit
        def kernel(x, y, n, by, REACH: tl.constexpr, BLOCK: tl.constexpr):
            lane = tl.arange(0, BLOCK)
            put(x + lane, tl.load(y + lane) * by, lane < n, REACH)
        """)
    )
    kernel = next(each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) and each.name == "kernel")
    assert behind_access(tree, kernel, 4) == ["x", "n", "REACH", "BLOCK"]
    assert behind_access(tree, kernel, 9) == ["y", "BLOCK"]


def test_both_sides_are_found() -> None:
    assert branch() == ["EVEN", "part = tl.load(x + at)", "part = tl.load(x + at, mask=at < n)"]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("", "", 8),  # the masked side
        ("", "", 9),  # of no branch
        (", mask=at < n)\n    tl", ")\n    tl", EVEN),  # neither side has a mask
        ("EVEN: tl.constexpr", "EVEN", EVEN),  # decided on the GPU
        ("if EVEN:", "if EVEN and n > 4:", EVEN),  # the same
        ("    else:\n        part = tl.load(x + at, mask=at < n)\n", "", EVEN),  # there is no other side
    ],
)
def test_no_other_branch_is(old: str, new: str, line: int) -> None:
    assert branch(old, new, line=line) == []


def test_one_mask_may_say_less_than_the_other() -> None:
    assert branch("x + at)", "x + at, mask=at < 8)") == []
    assert branch("mask=at < n)\n    tl", "mask=(at < n) & (at < 8))\n    tl")[0] == "EVEN"


def test_the_branch_stays_and_what_decides() -> None:
    cause = Cause(
        "bounds", kinds.NO_MASK, "", "term", ("range",), "load", True, True, True, True, False, "",
        place="program.py:6:15", at=f"program.py:{EVEN}:15", sentence="it goes wrong", tensor="x", sized=True,
    )  # fmt: skip
    run = Run("virtual", 1, virtual=True, launches=(Launch("kernel", "", (1,), causes=(cause,)),))
    causes = LaunchCauses.of(run)
    assert made_by_host(causes) == "" and made_by_host(causes, PROGRAM) == "it goes wrong"
    marked = with_slice_kept(PROGRAM, run)
    accesses = ("part = tl.load(x + at)", "part = tl.load(x + at, mask=at < n)")
    for line in ("at = tl.arange(0, BLOCK)", *accesses, "x = torch.zeros(6)"):
        assert f"{line}{MARK}\n" in marked
    assert f"    if EVEN:{HEAD}\n" in marked and f"BLOCK: tl.constexpr):{HEAD}\n" in marked
    elsewhere = replace(run.launches[0], causes=(replace(cause, at="program.py:9:4"),))
    assert made_by_host(LaunchCauses.of(replace(run, launches=(elsewhere,))), PROGRAM) == ""
