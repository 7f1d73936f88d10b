"""Masks to stricter ones: what lets less through is never more undefined, and often shorter.

A mask may always become `False`. Of two that both must hold, one that lets nothing through is enough:
`(rows < 0)[:, None]` for `(rows < 0)[:, None] & (cols < n)[None, :]`. Other simplifications of a mask let more through,
and belong to nobody: `guards` takes a mask as a whole, where the fault needs it gone.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from shrinkray_gpu.passes.tree import dotted, every, line_number, source, weight, within
from shrinkray_gpu.reduction.edit import Edit, Replace
from shrinkray_gpu.reduction.program import Program


def find(program: Program) -> Iterator[Edit]:
    for arg in every(program, cst.Arg):
        if arg.keyword is None or arg.keyword.value != "mask" or dotted(arg.value) == "False":
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
    """Whether it lets nothing through, as far as the text tells: offsets count from 0."""
    while isinstance(mask, cst.Subscript):
        mask = mask.value
    if not isinstance(mask, cst.Comparison) or len(mask.comparisons) != 1:
        return False
    target = mask.comparisons[0]
    return isinstance(target.operator, cst.LessThan) and source(program, target.comparator) == "0"
