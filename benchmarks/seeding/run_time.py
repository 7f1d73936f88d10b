"""Faults of a kernel that show when it runs. Each is two functions: plant, and mend."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import libcst as cst

from .places import Edit, Place, Source, called, keyword, last_name


def _unmasked(place: Place) -> Iterator[str]:
    node = place.node
    if called(node, "load", "store") and keyword(node, "mask"):  # type: ignore[arg-type]
        gone = (keyword(node, "mask"), keyword(node, "other"))  # type: ignore[arg-type]
        args = [place.code(arg).rstrip(", ") for arg in node.args if arg not in gone]  # type: ignore[attr-defined]
        yield f"{place.code(node.func)}({', '.join(args)})"  # type: ignore[attr-defined]


def _masked(place: Place, planted: Edit) -> Iterator[str]:
    """With the mask that was there; where its names are gone, with one that keeps the index from 0 to an extent."""
    node, was = place.node, cst.parse_expression(planted.old)
    if called(node, last_name(was)) and not keyword(node, "mask"):  # type: ignore[arg-type]
        args = [place.code(arg).rstrip(", ") for arg in node.args]  # type: ignore[attr-defined]
        masks = [place.code(keyword(was, "mask").value)]  # type: ignore[union-attr, arg-type]
        if not set(re.findall(r"[A-Za-z_]\w*", masks[0])) <= set(re.findall(r"\w+", place.source.text)):
            index = _index(place, node.args[0].value)  # type: ignore[attr-defined]
            masks = [f"({index} >= 0) & ({index} < {extent})" for extent in _extents(place.source) if index]
        for mask in masks:
            yield f"{place.code(node.func)}({', '.join(args)}, mask={mask})"  # type: ignore[attr-defined]


def _index(place: Place, pointer: cst.BaseExpression) -> str:
    """What is added to the parameter that a pointer begins with; empty where that cannot be told."""
    terms, node = [], pointer
    while not isinstance(node, cst.Name) or node.value not in _parameters(place):
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
            terms.append(place.code(node.right))
            node = node.left
        elif isinstance(node, cst.Name) and (value := _assigned(place, node.value)) is not None:
            node = value
        else:
            return ""
    return f"({' + '.join(f'({term})' for term in terms)})" if terms else ""


def _parameters(place: Place) -> set[str]:
    return {param.name.value for param in place.function.params.params} if place.function else set()


def _assigned(place: Place, name: str) -> cst.BaseExpression | None:
    """The value of a variable of the kernel that is assigned once."""
    found: list[cst.BaseExpression | None] = []
    for each in place.source.places:
        if each.function is place.function and isinstance(each.node, cst.Assign):
            names = [target.target.value for target in each.node.targets if isinstance(target.target, cst.Name)]
            found += [each.node.value] if name in names else []
        elif each.function is place.function and isinstance(each.node, cst.AugAssign):
            found += [None] if each.code(each.node.target) == name else []
    return found[0] if len(found) == 1 else None


def _extents(source: Source) -> list[int]:
    """The extents that calls of the host name, and the numbers of elements, the largest first."""
    found = set()
    for place in source.places:
        if isinstance(place.node, cst.Call) and not place.in_kernel:
            shape = [arg.value for arg in place.node.args if arg.keyword is None]
            if len(shape) == 1 and isinstance(shape[0], (cst.Tuple, cst.List)):
                shape = [each.value for each in shape[0].elements]
            if shape and all(isinstance(each, cst.Integer) for each in shape):
                extents = [int(each.value) for each in shape]  # type: ignore[attr-defined]
                found |= {*extents, math.prod(extents)}
    return sorted(found, reverse=True)[:MOST]


MOST = 6


MASK = (_unmasked, _masked)


def _compared(place: Place, old: type[cst.BaseCompOp], new: cst.BaseCompOp) -> Iterator[str]:
    node = place.node
    if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
        one = node.comparisons[0]
        if isinstance(one.operator, old):
            yield place.code(node.with_changes(comparisons=[one.with_changes(operator=new)]))


BOUND = (
    lambda place: _compared(place, cst.LessThan, cst.LessThanEqual()),
    lambda place, planted: _compared(place, cst.LessThanEqual, cst.LessThan()),
)


def _not_widened(place: Place) -> Iterator[str]:
    node = place.node
    if called(node, "to") and [last_name(arg.value) for arg in node.args] == ["int64"]:  # type: ignore[attr-defined]
        yield place.code(node.func.value)  # type: ignore[attr-defined]


def _widened(place: Place, planted: Edit) -> Iterator[str]:
    if isinstance(place.node, cst.BaseExpression) and place.code() == planted.new:
        if not isinstance(place.parent, (cst.AssignTarget, cst.AugAssign)):
            yield f"({place.code()}).to({place.source.language}.int64)"


NARROW = (_not_widened, _widened)


def _not_atomic(place: Place) -> Iterator[str]:
    node = place.node
    if called(node, "atomic_add") and len(node.args) >= 2 and isinstance(place.parent, cst.Expr):  # type: ignore
        pointer, value = (place.code(arg.value) for arg in node.args[:2])  # type: ignore[attr-defined]
        given = keyword(node, "mask")  # type: ignore[arg-type]
        mask = f", mask={place.code(given.value)}" if given is not None else ""
        language = place.source.language
        yield f"{language}.store({pointer}, {language}.load({pointer}{mask}) + {value}{mask})"


def _atomic(place: Place, planted: Edit) -> Iterator[str]:
    """A sum that is stored where a part of it was loaded."""
    node = place.node
    if not (called(node, "store") and len(node.args) >= 2):  # type: ignore[attr-defined]
        return
    pointer, total = (arg.value for arg in node.args[:2])  # type: ignore[attr-defined]
    if isinstance(total, cst.BinaryOperation) and isinstance(total.operator, cst.Add) and called(total.left, "load"):
        rest = "".join(f", {place.code(arg).rstrip(', ')}" for arg in node.args[2:])  # type: ignore[attr-defined]
        yield f"{place.source.language}.atomic_add({place.code(pointer)}, {place.code(total.right)}{rest})"


ATOMIC = (_not_atomic, _atomic)


def _no_barrier(place: Place) -> Iterator[str]:
    if called(place.node, "debug_barrier"):
        yield "None"


def _barrier(place: Place, planted: Edit) -> Iterator[str]:
    if isinstance(place.node, cst.Expr) and place.code() == "None":
        yield planted.old


BARRIER = (_no_barrier, _barrier)


def _claimed(place: Place) -> Iterator[str]:
    """The start of a block, said to be a multiple of 16 elements more than it is."""
    node = place.node
    if called(node, "multiple_of") and len(node.args) == 2 and isinstance(node.args[1].value, cst.Integer):  # type: ignore
        claim = node.args[1].value  # type: ignore[attr-defined]
        yield place.code_with(claim, str(int(claim.value) * 16))


def _not_claimed(place: Place, planted: Edit) -> Iterator[str]:
    node = place.node
    if called(node, "multiple_of"):
        yield place.code(node.args[0].value)  # type: ignore[attr-defined]


HINT = (_claimed, _not_claimed)
