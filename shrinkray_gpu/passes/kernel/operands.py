"""One operand twice instead of two: `tl.dot(a, a)` for `tl.dot(a, b)`, where both are of one shape and type.

`standins` offers variables, by their distance; here the other operands of the same call stand in, whatever they are,
because a watched run saw that they are of one type. With an operand goes what only it used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from shrinkray_gpu.passes.kernel.typed import kinds
from shrinkray_gpu.reduction.edit import Edit, Replace
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.orphans import orphans, weights
from shrinkray_gpu.source.tree import ancestors, every, line_number, source, weight


def find(program: Program, values: Mapping[int, str]) -> Iterator[Edit]:
    known = kinds(program, values)
    for call in every(program, cst.Call):
        operands = [arg.value for arg in call.args if arg.value in known and known[arg.value].shape]
        for operand in operands:
            for other in operands:
                if other is operand or known[other] != known[operand]:
                    continue
                lost = orphans(program, [operand])
                gain = weight(program, operand) + weights(program, lost) - weight(program, other)
                if gain > 0 and source(program, other) != source(program, operand):
                    what = f"{source(program, other)[:20]} twice at line {line_number(program, call)}"
                    yield Edit(what, (Replace(operand, (other,)), *lost), _depth(program, call), gain)


def _depth(program: Program, node: cst.CSTNode) -> int:
    return sum(isinstance(up, cst.BaseExpression) for up in ancestors(program, node))
