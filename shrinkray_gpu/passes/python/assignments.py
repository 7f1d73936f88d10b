"""Assignments cut down to what is used of them: a value without its name, one target of several, a plain `return`.

`x, y = f()` says more than `f()` where nobody reads x and y any more; what stands in the value alone (a call that
launches) stays. A tuple assignment falls into its parts, so that each can go on its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from shrinkray_gpu.reduction.edit import Edit, Insert, Replace, Template
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.edits import removal, replacement
from shrinkray_gpu.source.scoping import bindings
from shrinkray_gpu.source.tree import depth, every, line_number, source, statement, within

_INERT = (cst.Name, cst.Integer, cst.Float, cst.SimpleString, cst.Lambda)
"""Values that do nothing as a statement of their own."""


def find(program: Program) -> Iterator[Edit]:
    needed = _needed_assignments(program)
    for node in every(program, cst.Assign):
        yield from _fewer_targets(program, node, node in needed)
    for typed in every(program, cst.AnnAssign):
        if typed.value is not None and typed not in needed:
            yield _smaller_statement(program, typed, "value alone of", (typed.value,))
    for update in every(program, cst.AugAssign):
        yield removal(program, f"drop the update at line {line_number(program, update)}", update, level=1)
        yield _smaller_statement(program, update, "no update but", (update.target, " = ", update.value))
    for end in every(program, cst.Return):
        if end.value is not None:
            if not isinstance(end.value, _INERT):
                yield _smaller_statement(program, end, "value alone of", (end.value,))
            yield _smaller_statement(program, end, "empty", ("return",))
    for walrus in every(program, cst.NamedExpr):
        yield _smaller_statement(program, walrus, "value alone of", (walrus.value,))
    for check in every(program, cst.Assert):
        if check.msg is not None:
            yield _smaller_statement(program, check, "no message in", ("assert ", check.test))


def _needed_assignments(program: Program) -> set[cst.CSTNode]:
    """Assignments of which every name is read somewhere, and bound nowhere else: without it comes a NameError."""
    idle: dict[cst.CSTNode, bool] = {}
    for binding in bindings(program):
        needed = len(binding.places) == 1 and bool(binding.reads)
        for place in binding.places:
            owner = statement(program, place)
            idle[owner] = idle.get(owner, True) and needed
    return {owner for owner, needed in idle.items() if needed}


def _fewer_targets(program: Program, node: cst.Assign, needed: bool) -> Iterator[Edit]:
    if not needed and not isinstance(node.value, _INERT):
        yield _smaller_statement(program, node, "value alone of", (node.value,))
    if len(node.targets) > 1:
        for target in node.targets:
            what = f"drop target {source(program, target.target)} at line {line_number(program, node)}"
            yield removal(program, what, target, level=2)
        return
    targets = _elements(node.targets[0].target)
    values = _elements(node.value)
    if len(targets) < 2:
        return
    if len(values) == len(targets):
        yield from _parts(program, node, targets, values)
    else:
        for position, name in enumerate(targets):
            yield _smaller_statement(program, node, f"target {position} alone of", (name, " = ", node.value), 3)


def _parts(
    program: Program, node: cst.Assign, targets: Sequence[cst.BaseExpression], values: Sequence[cst.BaseExpression]
) -> Iterator[Edit]:
    """`a, b = c, d`: each part alone, all but one, and one statement a part."""
    pairs = list(zip(targets, values, strict=True))
    for position in range(len(pairs)):
        rest = [pair for at, pair in enumerate(pairs) if at != position]
        left, right = _comma_list([t for t, _ in rest]), _comma_list([v for _, v in rest])
        yield _smaller_statement(program, node, f"part {position} dropped of", (*left, " = ", *right), 2)
    if len(pairs) > 2:
        for position, (target, value) in enumerate(pairs):
            yield _smaller_statement(program, node, f"part {position} alone of", (target, " = ", value), 2)
    written = {name.value for target in targets for name in within(program, target, cst.Name)}
    if not any(name.value in written for value in values[1:] for name in within(program, value, cst.Name)):
        *front, last = [(target, " = ", value) for target, value in pairs]
        what = f"split the assignment at line {line_number(program, node)}"
        yield Edit(what, (Insert(node, tuple(front)), Replace(node, last)), 3)


def _comma_list(nodes: Sequence[cst.BaseExpression]) -> Template:
    return tuple(part for node in nodes for part in (", ", node))[1:]


def _elements(node: cst.BaseExpression) -> Sequence[cst.BaseExpression]:
    if isinstance(node, (cst.Tuple, cst.List)) and all(isinstance(e, cst.Element) for e in node.elements):
        return [element.value for element in node.elements]
    return []


def _smaller_statement(program: Program, node: cst.CSTNode, what: str, by: Template, level: int = 1) -> Edit:
    what = f"{what} {' '.join(source(program, node).split())[:30]} at line {line_number(program, node)}"
    return replacement(program, what, node, by, level + depth(program, node) // 8)
