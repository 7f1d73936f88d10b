"""Masks to stricter ones: what lets less through is never more undefined, and often shorter.

A mask may always become `False`. Of two that both must hold, one that lets nothing through is enough: `(rows < 0)[:,
None]` for `(rows < 0)[:, None] & (cols < n)[None, :]`. Other simplifications of a mask let more through, or make one
that always holds: no pass offers them (`masking`). `guards` takes a mask as a whole, where the fault needs it gone. The
shape is an access behind a boundary test that the fault does not depend on.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from shrinkray_gpu.reduction.edit import Edit, Replace
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.masking import mask_arguments
from shrinkray_gpu.source.pinning import assigned_value
from shrinkray_gpu.source.scoping import bindings
from shrinkray_gpu.source.spelling import word
from shrinkray_gpu.source.tree import dotted_text, line_number, source, weight, within

_NEVER_BELOW = frozenset({"zeros", "program_id", "num_programs"})
"""What kernel languages give that is 0 or more."""


def find(program: Program) -> Iterator[Edit]:
    for arg in mask_arguments(program):
        if dotted_text(arg.value) == "False":
            continue
        where = f"of the mask at line {line_number(program, arg)}"
        gain = weight(program, arg.value) - 1
        yield Edit(f"nothing through, instead {where}", (Replace(arg.value, ("False",)),), 0, max(1, gain))
        for both in within(program, arg.value, cst.BinaryOperation):
            if not isinstance(both.operator, cst.BitAnd):
                continue
            for one, other in ((both.left, both.right), (both.right, both.left)):
                if _shut(program, one):
                    yield Edit(f"one half {where}", (Replace(both, (one,)),), 1, weight(program, other) + 1)


def _shut(program: Program, mask: cst.BaseExpression) -> bool:
    """Whether it lets nothing through: it asks for less than 0 of what is not, as it is written. An index that was
    loaded may well be -1, and its bound alone would let all of a tile through."""
    while isinstance(mask, cst.Subscript):
        mask = mask.value
    if not isinstance(mask, cst.Comparison) or len(mask.comparisons) != 1:
        return False
    target = mask.comparisons[0]
    below_zero = isinstance(target.operator, cst.LessThan) and source(program, target.comparator) == "0"
    return below_zero and _counts_from_zero(program, mask.left)


def _counts_from_zero(program: Program, value: cst.BaseExpression) -> bool:
    """Whether it is made of nothing but offsets, numbers of programs and literals, by sums and products."""
    left, seen = [value], set[cst.CSTNode]()
    while left:
        node = _made(program, left.pop())
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, cst.Subscript):
            left.append(node.value)
        elif isinstance(node, cst.BinaryOperation) and isinstance(node.operator, (cst.Add, cst.Multiply)):
            left += (node.left, node.right)
        elif isinstance(node, cst.Call) and word(program, node.func) == "arange":
            left += (arg.value for arg in node.args[:1])
        elif not isinstance(node, cst.Integer) and word(program, getattr(node, "func", None)) not in _NEVER_BELOW:
            return False
    return True


def _made(program: Program, value: cst.BaseExpression) -> cst.BaseExpression:
    """What a variable with a single assignment stands for, or the expression itself."""
    if not isinstance(value, cst.Name):
        return value
    made = next((assigned_value(program, each) for each in bindings(program) if value in each.reads), None)
    return made[1] if made is not None else value
