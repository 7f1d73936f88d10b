"""No pass makes a mask that always holds: it would look like a guard and keep nothing out."""

from __future__ import annotations

import ast
from collections.abc import Iterable

import pytest

from shrinkray_gpu.passes import PASSES, Pass
from shrinkray_gpu.passes.kernel.typed import watchable
from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import render
from shrinkray_gpu.source.masking import mask_arguments
from shrinkray_gpu.source.tree import source
from tests.passes.offers import program

SMALL = """\
import torch
import triton
import triton.language as tl

LIMIT = 64
ALL = True


@triton.jit
def helper(n, LAST: tl.constexpr = True):
    return (0 < n) & LAST


@triton.jit
def kernel(x, y, n, EVEN: tl.constexpr, first: tl.constexpr):
    row = 0
    inside = row < n
    v = tl.load(x + row, mask=inside & EVEN, other=0.0)
    w = tl.load(x + row, mask=row < LIMIT if first else True, other=0.0)
    u = tl.load(x + row, mask=helper(n), other=0.0)
    tl.store(y + row, v + w + u, mask=ALL)
    tl.store(y, 0.0, 0 < n)


kernel[(1,)](torch.zeros(64, device="cuda"), torch.zeros(64, device="cuda"), 64, EVEN=True, first=True)
"""


def always_true(text: Program) -> int:
    """How many masks are `True`, or compare numbers only, in themselves or in a part that stands there."""

    def holds(node: ast.AST) -> bool:
        if isinstance(node, ast.Compare):
            return all(isinstance(side, ast.Constant) for side in (node.left, *node.comparators))
        return isinstance(node, ast.Constant) and node.value is True

    masks = [ast.parse(source(text, arg.value).strip(), mode="eval") for arg in mask_arguments(text)]
    return sum(any(holds(node) for node in ast.walk(mask)) for mask in masks)


def edits(a_pass: Pass, start: Program) -> Iterable[Edit]:
    if not a_pass.needs_values:
        return a_pass.find(start)
    places = range(len(watchable(start)))
    return [edit for value in ("True", "64", "<int1 []>") for edit in a_pass.find(start, dict.fromkeys(places, value))]


@pytest.mark.parametrize("a_pass", dict.fromkeys(PASSES), ids=lambda a_pass: a_pass.name)
def test_no_pass_makes_one(a_pass: Pass) -> None:
    start = program(SMALL)
    before = always_true(start)
    for edit in edits(a_pass, start):
        after = render(start, [edit])
        assert not after.parses or always_true(after) <= before, (edit.what, after.text)


def test_what_is_no_mask_may_be_true() -> None:
    text = SMALL.replace("v + w + u", "v + w + u if EVEN else v")
    constants = next(each for each in PASSES if each.name == "constants")
    pinned = [edit.what for edit in edits(constants, program(text.replace("inside & EVEN", "inside")))]
    assert any("EVEN" in what for what in pinned)
    assert not any("EVEN" in edit.what for edit in edits(constants, program(text)))
