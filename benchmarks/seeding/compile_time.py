"""Faults that Triton's compiler reports. Each is two functions: plant, and mend."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from .places import Edit, Place, argument, called, keyword, last_name

DTYPE = re.compile(r"\b(?:float\d+|bfloat16|float8\w+|u?int\d+)\b")
CREATE = ("zeros", "full", "zeros_like")
REDUCE = ("sum", "max", "min", "argmax", "argmin", "cumsum")


def longer(place: Place) -> Iterator[str]:
    node = place.node
    if called(node, "arange") and len(node.args) == 2:  # type: ignore[attr-defined]
        end = node.args[1].value  # type: ignore[attr-defined]
        yield place.code_with(end, f"{place.code(end)} + 1")


def shorter(place: Place, planted: Edit) -> Iterator[str]:
    node = place.node
    if not (called(node, "arange") and len(node.args) == 2):  # type: ignore[attr-defined]
        return
    end = node.args[1].value  # type: ignore[attr-defined]
    if isinstance(end, cst.Integer):
        yield place.code_with(end, str(int(end.value) - 1))
    elif isinstance(end, cst.BinaryOperation) and isinstance(end.operator, cst.Add) and place.code(end.right) == "1":
        yield place.code_with(end, place.code(end.left))
    else:
        yield place.code_with(end, f"{place.code(end)} - 1")


def _spread(place: Place) -> Iterator[str]:
    """`x[:, None]` and `x[None, :]`, one for the other."""
    node = place.node
    if not (isinstance(node, cst.Subscript) and len(node.slice) == 2):
        return
    parts = [place.code(one.slice) for one in node.slice]
    if sorted(parts) == [":", "None"]:
        yield f"{place.code(node.value)}[{parts[1]}, {parts[0]}]"


AXIS = (_spread, lambda place, planted: _spread(place))


def _axis(node: cst.CSTNode) -> cst.BaseExpression | None:
    """Of a reduction."""
    if not (called(node, *REDUCE) and isinstance(node.func, cst.Attribute)):  # type: ignore[attr-defined]
        return None
    is_function = last_name(node.func.value) in ("tl", "language")  # type: ignore[attr-defined]
    found = argument(node, 1 if is_function else 0, "axis")  # type: ignore[arg-type]
    return found.value if found is not None else None


def _other_axis(place: Place) -> Iterator[str]:
    axis = _axis(place.node)
    if axis is not None and place.code(axis) in ("0", "1"):
        yield place.code_with(axis, str(1 - int(place.code(axis))))


def _first_axis(place: Place, planted: Edit) -> Iterator[str]:
    wrong = {_axis_text(planted.new)} - {None}
    axis = _axis(place.node)
    if axis is not None and place.code(axis) in wrong:
        yield from _other_axis(place)


def _axis_text(text: str) -> str | None:
    axis = _axis(cst.parse_expression(text))
    return None if axis is None else cst.Module([]).code_for_node(axis)


REDUCED_AXIS = (_other_axis, _first_axis)


def _not_transposed(place: Place) -> Iterator[str]:
    node = place.node
    if called(node, "trans") and len(node.args) == 1:  # type: ignore[attr-defined]
        yield place.code(node.args[0].value)  # type: ignore[attr-defined]
    elif isinstance(node, cst.Attribute) and node.attr.value == "T":
        yield place.code(node.value)


def _transposed(place: Place, planted: Edit) -> Iterator[str]:
    node = place.node
    if not isinstance(node, cst.BaseExpression):
        return
    operand = isinstance(place.parent, cst.Arg) and called(place.source.parents[place.parent], "dot")
    if operand or place.code() == planted.new:
        if not (isinstance(place.parent, cst.AssignTarget) or called(node, "dot")):
            yield f"{place.source.language}.trans({place.code()})"


TRANSPOSE = (_not_transposed, _transposed)


def _other_operand(place: Place) -> Iterator[str]:
    """The first operand of tl.dot in another type, whichever the program does not have."""
    node = place.node
    if called(node, "dot") and len(node.args) >= 2:  # type: ignore[attr-defined]
        first = node.args[0].value  # type: ignore[attr-defined]
        code = place.code(first)
        code = code if isinstance(first, (cst.Name, cst.Call, cst.Attribute, cst.Subscript)) else f"({code})"
        for dtype in ("float16", "float32"):
            yield place.code_with(first, f"{code}.to({place.source.language}.{dtype})")


def _same_operand(place: Place, planted: Edit) -> Iterator[str]:
    dtype = "float16" if ".float16)" in planted.new else "float32"
    yield from _uncast(place, dtype)
    # The cast of a constant is a constant of that type.
    node = place.node
    if called(node, *CREATE):
        for arg in node.args:  # type: ignore[attr-defined]
            if last_name(arg.value) == dtype:
                for other in DTYPE.findall(place.source.text):
                    if other != dtype:
                        yield place.code_with(arg.value, f"{place.source.language}.{other}")


def _uncast(place: Place, dtype: str) -> Iterator[str]:
    """`x` for `x.to(dtype)`."""
    node = place.node
    if called(node, "to", "cast") and any(last_name(arg.value) == dtype for arg in node.args):  # type: ignore[attr-defined]
        is_method = last_name(node) == "to" and isinstance(node.func, cst.Attribute)  # type: ignore[attr-defined]
        yield place.code(node.func.value if is_method else node.args[0].value)  # type: ignore[attr-defined]


DOT_DTYPE = (_other_operand, _same_operand)


def _float_index(place: Place) -> Iterator[str]:
    if called(place.node, "arange"):
        yield f"{place.code()}.to({place.source.language}.float32)"


INDEX_DTYPE = (_float_index, lambda place, planted: _uncast(place, "float32"))


def _target(place: Place) -> str:
    """The one name that an assignment binds."""
    node = place.node
    if isinstance(node, cst.Assign) and len(node.targets) == 1:
        return last_name(node.targets[0].target) if isinstance(node.targets[0].target, cst.Name) else ""
    return ""


def _is_carried(place: Place, name: str) -> bool:
    """Whether a loop of this function binds the name again."""
    assert place.function is not None
    for one in place.source.places:
        if one.function is not place.function:
            continue
        if isinstance(one.node, cst.AugAssign) and place.code(one.node.target) == name or _target(one) == name:
            if one.node is not place.node and _in_loop(one):
                return True
    return False


def _in_loop(place: Place) -> bool:
    node = place.node
    while node is not place.function:
        if isinstance(node, (cst.For, cst.While)):
            return True
        node = place.source.parents[node]
    return False


def _begun_otherwise(place: Place) -> Iterator[str]:
    name = _target(place)
    if not name or _in_loop(place) or not _is_carried(place, name):
        return
    value = place.node.value  # type: ignore[attr-defined]
    if isinstance(value, cst.Float) and float(value.value).is_integer():
        yield f"{name} = {int(float(value.value))}"
    elif called(value, "zeros", "full"):
        for arg in value.args:
            if last_name(arg.value) == "float32":
                for dtype in ("int32", "float16"):
                    yield place.code_with(arg.value, f"{place.source.language}.{dtype}")


def _begun_alike(place: Place, planted: Edit) -> Iterator[str]:
    node = place.node
    language = place.source.language
    if called(node, *CREATE):
        for arg in node.args:  # type: ignore[attr-defined]
            if last_name(arg.value) in ("int32", "float16"):
                yield place.code_with(arg.value, f"{language}.float32")
    elif _target(place) and isinstance(node.value, cst.Integer):  # type: ignore[attr-defined]
        yield f"{_target(place)} = {node.value.value}.0"  # type: ignore[attr-defined]


CARRIED = (_begun_otherwise, _begun_alike)


def _without_mask(place: Place) -> Iterator[str]:
    node = place.node
    if called(node, "load") and keyword(node, "other") and keyword(node, "mask"):  # type: ignore[arg-type]
        kept = [place.code(arg).rstrip(", ") for arg in node.args if arg is not keyword(node, "mask")]  # type: ignore
        yield f"{place.code(node.func)}({', '.join(kept)})"  # type: ignore[attr-defined]


def _with_mask(place: Place, planted: Edit) -> Iterator[str]:
    """The mask that was; True where what it was made of is gone, since here any mask is the fix."""
    node = place.node
    if called(node, "load") and keyword(node, "other") and not keyword(node, "mask"):  # type: ignore[arg-type]
        mask = keyword(cst.parse_expression(planted.old), "mask")  # type: ignore[arg-type]
        args = [place.code(arg).rstrip(", ") for arg in node.args]  # type: ignore[attr-defined]
        for text in ([place.code(mask.value)] if mask is not None else []) + ["True"]:
            yield f"{place.code(node.func)}({', '.join(args)}, mask={text})"  # type: ignore[attr-defined]


MASK_OF_OTHER = (_without_mask, _with_mask)


def _not_constant(place: Place) -> Iterator[str]:
    node = place.node
    if isinstance(node, cst.Annotation) and isinstance(place.parent, cst.Param):
        if last_name(node.annotation) == "constexpr":
            yield "int"


def _constant(place: Place, planted: Edit) -> Iterator[str]:
    node, constexpr = place.node, f"{place.source.language}.constexpr"
    if isinstance(node, cst.Param) and node.annotation is None:
        yield f"{node.name.value}: {constexpr}"
    elif isinstance(node, cst.Annotation) and isinstance(place.parent, cst.Param):
        if last_name(node.annotation) == "int":
            yield constexpr


CONSTEXPR = (_not_constant, _constant)
