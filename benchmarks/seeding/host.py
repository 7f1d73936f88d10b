"""Faults of what launches a kernel. Each is two functions: plant, and mend."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from .places import Edit, Place, called, keyword

STAGES_MANY = "32"


def _is_launch(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Subscript)


def _many_stages(place: Place) -> Iterator[str]:
    node = place.node
    if not (_is_launch(node) or called(node, "Config", "dict")):
        return
    given = keyword(node, "num_stages")  # type: ignore[arg-type]
    if given is not None:
        yield place.code_with(given.value, STAGES_MANY)
    elif _is_launch(node) or called(node, "Config"):
        yield place.code(_with_argument(node, f"num_stages={STAGES_MANY}"))  # type: ignore[arg-type]


def _few_stages(place: Place, planted: Edit) -> Iterator[str]:
    node = place.node
    if not (isinstance(node, cst.Call) and (given := keyword(node, "num_stages"))):
        return
    was = keyword(cst.parse_expression(planted.old), "num_stages")  # type: ignore[arg-type]
    if was is None:
        args = [place.code(arg).rstrip(", ") for arg in node.args if arg is not given]
        yield f"{place.code(node.func)}({', '.join(args)})"
    else:
        yield place.code_with(given.value, place.code(was.value) if isinstance(was.value, cst.Integer) else "2")


STAGES = (_many_stages, _few_stages)


def _with_argument(call: cst.Call, text: str) -> cst.Call:
    more = cst.parse_expression(f"f({text})").args  # type: ignore[attr-defined]
    return call.with_changes(args=[*call.args, *more])


def _strides_swapped(place: Place) -> Iterator[str]:
    """Two arguments in a row that are strides of one tensor."""
    node = place.node
    if not _is_launch(node):
        return
    args = [arg for arg in node.args if arg.keyword is None and not arg.star]  # type: ignore[attr-defined]
    for first, second in zip(args, args[1:]):
        one, other = place.code(first.value), place.code(second.value)
        if ".stride(" in one and ".stride(" in other and one.split(".stride")[0] == other.split(".stride")[0]:
            changed = [_valued(arg, {first: second, second: first}.get(arg, arg)) for arg in node.args]  # type: ignore
            yield place.code(node.with_changes(args=changed))  # type: ignore[attr-defined]


def _valued(arg: cst.Arg, other: cst.Arg) -> cst.Arg:
    return arg.with_changes(value=other.value)


def _strides_back(place: Place, planted: Edit) -> Iterator[str]:
    """Of the tensor, or of two numbers in a row: a lifted launch has the values of its arguments."""
    node = place.node
    if not _is_launch(node):
        return
    wrong = [place.code(arg.value) for arg in cst.parse_expression(planted.new).args]  # type: ignore[attr-defined]
    right = [place.code(arg.value) for arg in cst.parse_expression(planted.old).args]  # type: ignore[attr-defined]
    one, other = (wrong[at] for at in range(len(wrong)) if wrong[at] != right[at])
    for first, second in zip(node.args, node.args[1:]):  # type: ignore[attr-defined]
        numbers = all(isinstance(arg.value, cst.Integer) for arg in (first, second))
        pair = (place.code(first.value), place.code(second.value))
        if pair == (one, other) or numbers and pair[0] != pair[1]:
            changed = [_valued(arg, {first: second, second: first}.get(arg, arg)) for arg in node.args]  # type: ignore
            yield place.code(node.with_changes(args=changed))  # type: ignore[attr-defined]


STRIDES = (_strides_swapped, _strides_back)


def _larger_grid(place: Place) -> Iterator[str]:
    node = place.node
    if not called(node, "cdiv"):
        return
    at = place.parent
    while not isinstance(at, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
        at = place.source.parents[at]
    if "grid" in place.code(at):
        yield f"{place.code()} + 1"


def _smaller_grid(place: Place, planted: Edit) -> Iterator[str]:
    node = place.node
    if isinstance(node, cst.BinaryOperation) and place.code() == planted.new:
        yield planted.old
    elif isinstance(node, cst.Integer) and isinstance(place.parent, cst.Element) and int(node.value) > 1:
        yield str(int(node.value) - 1)


GRID = (_larger_grid, _smaller_grid)
