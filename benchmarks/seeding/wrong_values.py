"""Faults of a kernel that show in what it computes, and nowhere else. Each is two functions: plant, and mend."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from .places import Edit, Place, called, keyword

_PART = r"pid|program_id|arange|stride|off|ptr|idx|block|cdiv"
_INDEX = re.compile(rf"\b(?:[A-Z][A-Z0-9_]*|i_\w+|num_\w+|\w+_dim|\w*(?:{_PART})\w*)\b|//|%")
"""Of what is an address, and no value."""
_PARENTHESISED = (cst.BinaryOperation, cst.Comparison, cst.BooleanOperation, cst.UnaryOperation, cst.IfExp)


def _operand(place: Place, node: cst.BaseExpression) -> str:
    code = place.code(node)
    return f"({code})" if isinstance(node, _PARENTHESISED) and not node.lpar else code


def _binary(place: Place, kinds: tuple[type, ...], *, values: bool = True) -> cst.BinaryOperation | None:
    """The place, where it is one of these operations. `values`: not where it computes an address."""
    node = place.node
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, kinds):
        return None if values and _INDEX.search(place.code()) else node
    return None


def _swapped(place: Place, kinds: tuple[type, ...], *, values: bool) -> Iterator[str]:
    node = _binary(place, kinds, values=values)
    if node is not None and place.code(node.left) != place.code(node.right):
        sign = place.code(node.operator)
        yield f"{_operand(place, node.right)} {sign} {_operand(place, node.left)}"


def _operands(place: Place) -> Iterator[str]:
    yield from _swapped(place, (cst.Subtract, cst.Divide), values=True)


def _operands_back(place: Place, planted: Edit) -> Iterator[str]:
    kind = type(cst.ensure_type(cst.parse_expression(planted.new), cst.BinaryOperation).operator)
    yield from _swapped(place, (kind,), values=False)


OPERANDS = (_operands, _operands_back)


def _factors(place: Place) -> Iterator[str]:
    """A product with its operands in the other order."""
    node = place.node
    if called(node, "dot") and len(node.args) >= 2 and not any(arg.keyword for arg in node.args[:2]):  # type: ignore
        first, second, *rest = node.args  # type: ignore[attr-defined]
        if place.code(first.value) != place.code(second.value):
            changed = [first.with_changes(value=second.value), second.with_changes(value=first.value), *rest]
            yield place.code(node.with_changes(args=changed))  # type: ignore[attr-defined]


FACTORS = (_factors, lambda place, planted: _factors(place))


def _dropped(place: Place) -> Iterator[str]:
    """A sum that is begun anew: `acc += x` and `acc = acc + x` become `acc = x`; `dot(a, b, acc)` loses `acc`."""
    node = place.node
    if isinstance(node, cst.AugAssign) and isinstance(node.operator, cst.AddAssign):
        if not _INDEX.search(place.code()):
            yield f"{place.code(node.target)} = {place.code(node.value)}"
    elif (target := _target(node)) is not None:
        value = node.value  # type: ignore[attr-defined]
        if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Add):
            if place.code(value.left) == target and not _INDEX.search(place.code()):
                yield f"{target} = {place.code(value.right)}"
        elif called(value, "dot") and (acc := _accumulator(place, value)) is not None:
            left = [place.code(arg).rstrip(", ") for arg in value.args if arg is not acc]
            yield f"{target} = {place.code(value.func)}({', '.join(left)})"


def _accumulator(place: Place, call: cst.Call) -> cst.Arg | None:
    plain = [arg for arg in call.args if arg.keyword is None]
    return keyword(call, "acc") or (plain[2] if len(plain) > 2 else None)


def _added(place: Place, planted: Edit) -> Iterator[str]:
    if (target := _target(place.node)) is not None:
        yield f"{target} += {place.code(place.node.value)}"  # type: ignore[attr-defined]


def _target(node: cst.CSTNode) -> str | None:
    """The one name that is assigned to."""
    if isinstance(node, cst.Assign) and len(node.targets) == 1 and isinstance(name := node.targets[0].target, cst.Name):
        return name.value
    return None


ACCUMULATOR = (_dropped, _added)

_ZERO = re.compile(r"-?0(?:\.0*)?$")
_INFINITE = re.compile(r"""-\s*(?:\w+\.)*(?:inf|float\(['"]inf['"]\))$|float\(['"]-inf['"]\)$""")


def _fill(place: Place) -> cst.BaseExpression | None:
    """What a load or a `where` gives where its mask is false."""
    node = place.node
    if called(node, "load"):
        found = keyword(node, "other")  # type: ignore[arg-type]
        return found.value if found is not None else None
    if called(node, "where") and len(node.args) == 3:  # type: ignore[attr-defined]
        return node.args[2].value  # type: ignore[attr-defined, no-any-return]
    return None


def _filled_wrong(place: Place) -> Iterator[str]:
    if (fill := _fill(place)) is not None:
        if _ZERO.match(place.code(fill)):
            yield place.code_with(fill, "1" if isinstance(fill, cst.Integer) else "1.0")
        elif _INFINITE.match(place.code(fill)):
            yield place.code_with(fill, "0.0")


def _filled_right(place: Place, planted: Edit) -> Iterator[str]:
    """With what was there: infinity if the fault has a zero, else zero."""
    if (fill := _fill(place)) is not None:
        infinite = "inf" in planted.old and planted.new.count("inf") < planted.old.count("inf")
        if infinite and _ZERO.match(place.code(fill)):
            yield place.code_with(fill, 'float("-inf")')
        elif not infinite and re.match(r"1(?:\.0*)?$", place.code(fill)):
            yield place.code_with(fill, "0" if isinstance(fill, cst.Integer) else "0.0")


FILL = (_filled_wrong, _filled_right)


def _unscaled(place: Place) -> Iterator[str]:
    """A product without one of its factors."""
    if (node := _binary(place, (cst.Multiply,))) is not None:
        yield from (place.code(one) for one in (node.left, node.right))


def _scaled(place: Place, planted: Edit) -> Iterator[str]:
    """Times the factor that is missing, where the repro has its names; else times a parameter of the kernel."""
    was = cst.ensure_type(cst.parse_expression(planted.old), cst.BinaryOperation)
    left, right = (place.source.module.code_for_node(one).strip() for one in (was.left, was.right))
    kept, gone = (left, right) if left == planted.new else (right, left)
    node = place.node
    if not isinstance(node, cst.BaseExpression) or not _is_value(place):
        return
    bare = node.with_changes(lpar=[], rpar=[])
    named = _named(planted.statement)
    of_the_same = named is not None and isinstance(place.parent, cst.Assign) and _target(place.parent) == named
    if not of_the_same and _shape(place.code(bare)) != _shape(re.sub(r"^\((.*)\)$", r"\1", kept)):
        return
    known, factors = set(re.findall(r"\w+", place.source.text)), [gone]
    if not set(re.findall(r"(?<![\w.])[A-Za-z_]\w*", gone)) <= known and place.function is not None:
        factors = [one.name.value for one in place.function.params.params]
    stands_alone = node.lpar or isinstance(place.parent, (cst.Assign, cst.AugAssign, cst.Arg))
    for factor in factors:
        product = f"{_operand(place, bare)} * {factor}"
        yield product if stands_alone else f"({product})"


def _named(statement: str) -> str | None:
    """The name that it assigns to: what is assigned may have become part of another expression since."""
    found = re.match(r"(\w+) = ", statement)
    return found[1] if found else None


def _shape(code: str) -> str:
    """Whatever the names are."""
    return re.sub(r"(?<![\w.])[A-Za-z_]\w*(?![\w.(])", "n", re.sub(r"\s", "", code))


def _is_value(place: Place) -> bool:
    """Whether it can be replaced by another expression: no name that is called, assigned to, or of a keyword."""
    parent = place.parent
    if isinstance(parent, (cst.AugAssign, cst.Attribute)):
        return parent.value is place.node and place.code() != place.source.language
    if isinstance(parent, (cst.AssignTarget, cst.Param, cst.Annotation, cst.For, cst.FunctionDef)):
        return False
    return not (isinstance(parent, cst.Call) and parent.func is place.node or _is_keyword(parent, place.node))


def _is_keyword(parent: cst.CSTNode, node: cst.CSTNode) -> bool:
    return isinstance(parent, cst.Arg) and parent.keyword is node


UNSCALED = (_unscaled, _scaled)


def _inverted(place: Place) -> Iterator[str]:
    """A factor that divides, and a divisor that multiplies."""
    if (node := _binary(place, (cst.Multiply, cst.Divide))) is not None:
        yield _turned(place, node)


def _turned(place: Place, node: cst.BinaryOperation) -> str:
    sign = "/" if isinstance(node.operator, cst.Multiply) else "*"
    return f"{place.code(node.left)} {sign} {_operand(place, node.right)}"


def _inverted_back(place: Place, planted: Edit) -> Iterator[str]:
    kind = type(cst.ensure_type(cst.parse_expression(planted.new), cst.BinaryOperation).operator)
    if (node := _binary(place, (kind,), values=False)) is not None:
        yield _turned(place, node)


INVERTED = (_inverted, _inverted_back)
