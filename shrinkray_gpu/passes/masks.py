"""Masks to stricter ones: what lets less through is never more undefined, and often shorter.

A mask may always become `False`. Of two that both must hold, one that lets nothing through is enough: `(rows < 0)[:,
None]` for `(rows < 0)[:, None] & (cols < n)[None, :]`. Where rows and columns have become zeros, one tile of zeros lets
through the same as both; of two numbers the comparison is `True`, and the number of the only program is 0. Other
simplifications of a mask let more through, and belong to nobody: `guards` takes a mask as a whole, where the fault
needs it gone.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping

import libcst as cst

from shrinkray_gpu.passes.calls import is_kernel
from shrinkray_gpu.passes.launches import programs_along
from shrinkray_gpu.passes.masking import mask_arguments
from shrinkray_gpu.passes.orphans import orphans, weights
from shrinkray_gpu.passes.pinning import assigned
from shrinkray_gpu.passes.scoping import bindings
from shrinkray_gpu.passes.tree import ancestors, dotted, line_number, source, weight, within
from shrinkray_gpu.passes.typed import language
from shrinkray_gpu.reduction.edit import Edit, Replace
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.size import tokens

_COMPARE: Mapping[type[cst.BaseCompOp], Callable[[int, int], bool]] = {
    cst.LessThan: operator.lt,
    cst.LessThanEqual: operator.le,
    cst.GreaterThan: operator.gt,
    cst.GreaterThanEqual: operator.ge,
    cst.Equal: operator.eq,
    cst.NotEqual: operator.ne,
}


def find(program: Program) -> Iterator[Edit]:
    for arg in mask_arguments(program):
        if dotted(arg.value) == "False":
            continue
        where = f"of the mask at line {line_number(program, arg)}"
        gain = weight(program, arg.value) - 1
        yield Edit(f"nothing through, instead {where}", (Replace(arg.value, ("False",)),), 0, max(1, gain))
        if _holds(arg.value):
            yield Edit(f"what it is instead {where}", (Replace(arg.value, ("True",)),), 0, max(1, gain))
        if (tile := _tile(program, arg.value)) is not None:
            lost = orphans(program, [arg.value])
            gain = weight(program, arg.value) + weights(program, lost) - tokens(tile)
            yield Edit(f"one tile instead {where}", (Replace(arg.value, (tile,)), *lost), 0, max(1, gain))
        for call in within(program, arg.value, cst.Call):
            if _is_first(program, call):
                yield Edit(f"the only program {where}", (Replace(call, ("0",)),), 1, weight(program, call) - 1)
        for both in within(program, arg.value, cst.BinaryOperation):
            if not isinstance(both.operator, cst.BitAnd):
                continue
            for one, other in ((both.left, both.right), (both.right, both.left)):
                if _shut(program, one):
                    yield Edit(f"one half {where}", (Replace(both, (one,)),), 1, weight(program, other) + 1)


def _is_first(program: Program, call: cst.Call) -> bool:
    """Whether it is `tl.program_id(axis)` where each launch has one program along that axis."""
    if dotted(call.func) != f"{language(program)}.program_id" or len(call.args) != 1:
        return False
    axis = call.args[0].value
    kernel = next((up for up in ancestors(program, call) if isinstance(up, cst.FunctionDef)), None)
    if kernel is None or not isinstance(axis, cst.Integer):
        return False
    return is_kernel(kernel) and programs_along(program, kernel, axis.evaluated_value) == 1


def _holds(mask: cst.BaseExpression) -> bool:
    """Whether it is `0 < 1024`, or another comparison of two numbers that comes out true."""
    if not isinstance(mask, cst.Comparison) or len(mask.comparisons) != 1:
        return False
    [target] = mask.comparisons
    compare = _COMPARE.get(type(target.operator))
    if compare is None or not isinstance(mask.left, cst.Integer) or not isinstance(target.comparator, cst.Integer):
        return False
    return compare(mask.left.evaluated_value, target.comparator.evaluated_value)


def _tile(program: Program, mask: cst.BaseExpression) -> str | None:
    """`tl.zeros([8, 16], tl.int32) < 1` for `(rows < 1)[:, None] & (cols < 2)[None, :]`, both zeros."""
    if not isinstance(mask, cst.BinaryOperation) or not isinstance(mask.operator, cst.BitAnd):
        return None
    extents: dict[str, str] = {}
    for part in (mask.left, mask.right):
        if isinstance(part, cst.Subscript):
            axes = ",".join(source(program, each).rstrip(", ") for each in part.slice)
            extents[axes] = _zeros_below(program, part.value)
    rows, columns = extents.get(":,None"), extents.get("None,:")
    tl = language(program)
    return f"{tl}.zeros([{rows}, {columns}], {tl}.int32) < 1" if rows and columns else None


def _zeros_below(program: Program, test: cst.BaseExpression) -> str:
    """How many zeros are compared here with a number above 0; empty where it is anything else."""
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return ""
    limit, value = test.comparisons[0].comparator, test.left
    if not isinstance(test.comparisons[0].operator, cst.LessThan) or not isinstance(limit, cst.Integer):
        return ""
    value = _made(program, value)
    if not isinstance(value, cst.Call) or dotted(value.func) != f"{language(program)}.zeros" or not value.args:
        return ""
    shape = value.args[0].value
    extent = shape.elements[0].value if isinstance(shape, cst.List) and len(shape.elements) == 1 else None
    return extent.value if isinstance(extent, cst.Integer) and limit.evaluated_value > 0 else ""


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
    tl = language(program)
    never_below = {f"{tl}.{name}" for name in ("zeros", "program_id", "num_programs")}
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
        elif isinstance(node, cst.Call) and dotted(node.func) == f"{tl}.arange":
            left += (arg.value for arg in node.args[:1])
        elif not isinstance(node, cst.Integer) and dotted(getattr(node, "func", None)) not in never_below:
            return False
    return True


def _made(program: Program, value: cst.BaseExpression) -> cst.BaseExpression:
    """What a variable with a single assignment stands for, or the expression itself."""
    if not isinstance(value, cst.Name):
        return value
    made = next((assigned(program, each) for each in bindings(program) if value in each.reads), None)
    return made[1] if made is not None else value
