"""A constant of its type in the place of a value in a kernel: `tl.zeros([2, 32], tl.int32)` for a masked load.

What a compiler trips over is mostly the shape and the type of an operand, not where it comes from. With the value goes
all that only it used: offsets, masks, the pointer among the parameters and the tensor that each launch gave for it. A
whole block takes a dozen tokens, so that only both together make the program smaller. Types are those that a watched
run saw. The shape is a compiler's fault at one operation, with loads and arithmetic in front of it. 0 for a number is
offered by `expressions`; here it is 0.0 where the value is a floating one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from shrinkray_gpu.passes.kernel.typed import KernelType, kinds
from shrinkray_gpu.passes.python.expressions import is_value
from shrinkray_gpu.reduction.edit import Edit, Replace
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.size import tokens
from shrinkray_gpu.source.kernels import kernel_around
from shrinkray_gpu.source.orphans import orphans, weights
from shrinkray_gpu.source.spelling import name_for
from shrinkray_gpu.source.tree import expression_depth, source, weight


def find(program: Program, values: Mapping[int, str]) -> Iterator[Edit]:
    for node, kind in kinds(program, values).items():
        if not isinstance(node, cst.BaseExpression) or not kind.plain or not is_value(program, node):
            continue
        lost = orphans(program, [node])
        before = weight(program, node) + weights(program, lost)
        for text in _constants(program, kernel_around(program, node), kind):
            gain = before - tokens(text)
            if gain > 0 and "".join(source(program, node).split()) != "".join(text.split()):
                yield Edit(
                    f"{text} for a value", (Replace(node, (text,)), *lost), expression_depth(program, node), gain
                )


def _constants(program: Program, kernel: cst.FunctionDef | None, kind: KernelType) -> list[str]:
    element = name_for(program, kernel, kind.element)
    if kind.shape:
        zeros = name_for(program, kernel, "zeros")
        return [f"{zeros}([{', '.join(map(str, kind.shape))}], {element})"] if zeros and element else []
    if "float" in kind.element:
        return ["0.0", "1.0"]
    if kind.element in ("int32", "int1"):
        return ["0"]
    full = name_for(program, kernel, "full")
    return [f"{full}([], 0, {element})"] if full and element else []
