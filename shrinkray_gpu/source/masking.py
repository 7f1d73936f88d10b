"""Which expressions are masks, wherever they are made: what decides which lanes of an access touch memory.

The size order counts a mask that is there or not; that it lets more through is seen nowhere. So no pass may loosen one
or make one that always holds, and a mask is more than what stands after `mask=`. It may be given by its position, be a
parameter or the result of a helper, and be put together from variables:

    inside = (rows < m)[:, None] & cols_ok
    tl.store(out + offsets, acc, inside)

What a mask compares (`rows`, `m`) is a number like any other where it is made: a mask changes with it, but so do the
offsets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from shrinkray_gpu.language import languages
from shrinkray_gpu.reduction.edit import Template
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.calls import functions, matches
from shrinkray_gpu.source.kernels import in_kernel
from shrinkray_gpu.source.literals import code, last_name
from shrinkray_gpu.source.scoping import variables_by_read
from shrinkray_gpu.source.spelling import meaning
from shrinkray_gpu.source.tree import every, once, within

_SAME_LANES = frozenset({"broadcast_to", "convert_layout", "expand_dims", "permute", "reshape", "to", "trans", "view"})
"""Calls that give a mask another shape or type."""
_JOINS = (cst.BitAnd, cst.BitOr, cst.BitXor)


class _MaskVariables(NamedTuple):
    parts: frozenset[cst.BaseExpression]
    reads: frozenset[cst.Name]


def in_mask(program: Program, node: cst.BaseExpression) -> bool:
    """Whether the node is a mask or lies in one: another expression in its place might let more through."""
    return node in _masked(program).parts


def is_mask_read(program: Program, name: cst.Name) -> bool:
    """Whether the variable is a mask here, alone or together with others: no number that a mask compares."""
    return name in _masked(program).reads


def mask_arguments(program: Program) -> list[cst.Arg]:
    """The arguments that are masks, by their keyword or, of a kernel's accesses, by their position."""
    by_position = {arg for call in every(program, cst.Call) for arg in _by_position(program, call)}
    return [arg for arg in every(program, cst.Arg) if arg in by_position or _by_keyword(arg)]


def _by_keyword(arg: cst.Arg) -> bool:
    return arg.keyword is not None and arg.keyword.value == "mask"


def _by_position(program: Program, call: cst.Call) -> list[cst.Arg]:
    """By the last name alone: what may be a mask is no number to play with, even of an access of unknown origin."""
    known = languages.access(meaning(program, call.func).rpartition(".")[2] or last_name(call.func))
    at = known.mask if known is not None and known.mask is not None else len(call.args)
    given = call.args[at : at + 1]
    if not given or not in_kernel(program, call) or any(arg.keyword or arg.star for arg in call.args[: at + 1]):
        return []
    return [*given]


def always_holds(program: Program, read: cst.BaseExpression, value: Template) -> bool:
    """Whether this value there makes a mask, or a part of one, that holds for every lane: `True` for a flag, or a
    number beside another, `0 < 1024`. Such a mask looks like a guard and keeps nothing out."""
    if len(value) != 1 or not in_mask(program, read):
        return False
    text = value[0] if isinstance(value[0], str) else code(value[0])
    if text == "True":
        return True
    compared = program.parents[read]
    if isinstance(compared, cst.ComparisonTarget):
        compared = program.parents[compared]
    if not isinstance(compared, cst.Comparison) or not _is_number(cst.parse_expression(text)):
        return False
    sides = [compared.left, *(target.comparator for target in compared.comparisons)]
    return all(_is_number(side) for side in sides if side is not read)


def _is_number(node: cst.BaseExpression) -> bool:
    return isinstance(node.expression if isinstance(node, cst.UnaryOperation) else node, cst.BaseNumber)


@once
def _masked(program: Program) -> _MaskVariables:
    """From the masks of accesses back through the variables that they are made of, in kernels."""
    parts: set[cst.BaseExpression] = set()
    reads: set[cst.Name] = set()
    variables = variables_by_read(program)
    seen: set[cst.CSTNode] = set()
    left = [arg.value for arg in mask_arguments(program)]
    while left:
        mask = left.pop()
        if mask not in parts:
            parts.update(within(program, mask, cst.BaseExpression))  # type: ignore[type-abstract]
        for read in _made_of(mask):
            if read in reads or read not in variables or not in_kernel(program, read):
                continue
            reads.add(read)
            for place in variables[read].places:
                if place not in seen:
                    seen.add(place)
                    left.extend(_bound_values(program, place))
    return _MaskVariables(frozenset(parts), frozenset(reads))


def _made_of(mask: cst.BaseExpression) -> Iterator[cst.Name]:
    """The variables that are masks themselves, and the helpers that make some."""
    left = [mask]
    while left:
        node = left.pop()
        if isinstance(node, cst.Name):
            yield node
        elif isinstance(node, cst.BooleanOperation) or (
            isinstance(node, cst.BinaryOperation) and isinstance(node.operator, _JOINS)
        ):
            left += (node.left, node.right)
        elif isinstance(node, cst.UnaryOperation):
            left.append(node.expression)
        elif isinstance(node, cst.Subscript):
            left.append(node.value)
        elif isinstance(node, cst.IfExp):
            left += (node.body, node.orelse)
        elif isinstance(node, cst.Call) and isinstance(node.func, cst.Name):
            yield node.func
        elif isinstance(node, cst.Call) and last_name(node.func) == "where":
            left += (arg.value for arg in node.args)
        elif isinstance(node, cst.Call) and last_name(node.func) in _SAME_LANES:
            left += (arg.value for arg in node.args[:1])
            left += [node.func.value] if isinstance(node.func, cst.Attribute) else []


def _bound_values(program: Program, place: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """What a variable is given where this binds it: an assigned value, or the arguments of a helper's calls. Of a
    helper itself, what it returns."""
    up = program.parents[place]
    if isinstance(place, cst.Param):
        yield from _argument_values(program, place)
    elif isinstance(place, cst.FunctionDef):
        yield from (each.value for each in within(program, place, cst.Return) if each.value is not None)
    elif isinstance(up, cst.AssignTarget):
        yield from _assigned_values(program, up)
    elif isinstance(up, (cst.AnnAssign, cst.AugAssign, cst.NamedExpr)) and up.target is place:
        yield from [up.value] if up.value is not None else []
    elif isinstance(up, cst.Element):
        unpacked = program.parents[up]
        target = program.parents[unpacked]
        if isinstance(unpacked, (cst.Tuple, cst.List)) and isinstance(target, cst.AssignTarget):
            for value in _assigned_values(program, target):
                if isinstance(value, (cst.Tuple, cst.List)) and len(value.elements) == len(unpacked.elements):
                    yield value.elements[unpacked.elements.index(up)].value
                else:
                    yield value


def _assigned_values(program: Program, target: cst.AssignTarget) -> list[cst.BaseExpression]:
    made = program.parents[target]
    return [made.value] if isinstance(made, cst.Assign) else []


def _argument_values(program: Program, param: cst.Param) -> Iterator[cst.BaseExpression]:
    """The default of a helper's parameter, and what the calls in kernels give for it."""
    if param.default is not None:
        yield param.default
    for helper in functions(program):
        if helper.node.params is program.parents[param]:
            for call in helper.calls:
                given = matches(call, helper) if in_kernel(program, call) else None
                if given is not None and param in given:
                    yield given[param].value
