"""What may stand where: how tightly an expression binds, and what the place it stands in asks for.

One table per direction, so that parentheses come from numbers and from nowhere else.
"""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import libcst as cst

ALWAYS, YIELD, TUPLE, TEST, OR, AND, NOT, COMPARE = range(8)
BIT_OR, BIT_XOR, BIT_AND, SHIFT, SUM, TERM, UNARY, POWER, AWAIT, NUMBER, PRIMARY, ATOM = range(8, 20)
"""How tightly an expression binds. ALWAYS wants parentheses wherever it is put (walrus, bare generator); NUMBER is
below PRIMARY since `1.real` is not `(1).real`."""


class SlotKind(Enum):
    """What sort of thing a place takes."""

    VALUE = "any expression"
    TARGET = "something that can be assigned to"
    SINGLE = "a target, but no tuple or list"
    NAME = "an identifier"
    DOTTED = "identifiers joined by dots"
    FIXED = "nothing else than what stands there"


class Member(Enum):
    """What a place takes, or a text is, beyond expressions."""

    NONE = "an expression"
    ELEMENT = "or starred"
    ARGUMENT = "or starred, or with a keyword"
    OTHER = "fits nowhere else"


@dataclass(frozen=True)
class Slot:
    """A place for an expression. `member`: as a member of a list, so that `*x` (or `x=1`) may stand there too."""

    level: int = TEST
    kind: SlotKind = SlotKind.VALUE
    member: Member = Member.NONE


_NAME = Slot(ATOM, SlotKind.NAME)
_DOTTED = Slot(PRIMARY, SlotKind.DOTTED)
_FIXED = Slot(ATOM, SlotKind.FIXED)

_BINARY: dict[type[cst.CSTNode], int] = {
    cst.BitOr: BIT_OR,
    cst.BitXor: BIT_XOR,
    cst.BitAnd: BIT_AND,
    cst.LeftShift: SHIFT,
    cst.RightShift: SHIFT,
    cst.Add: SUM,
    cst.Subtract: SUM,
    cst.Multiply: TERM,
    cst.MatrixMultiply: TERM,
    cst.Divide: TERM,
    cst.Modulo: TERM,
    cst.FloorDivide: TERM,
    cst.Power: POWER,
    cst.Or: OR,
    cst.And: AND,
}

_LEVELS: dict[type[cst.CSTNode], int] = {
    cst.Yield: YIELD,
    cst.Tuple: TUPLE,
    cst.NamedExpr: ALWAYS,
    cst.GeneratorExp: ALWAYS,
    cst.StarredElement: ALWAYS,
    cst.Lambda: TEST,
    cst.IfExp: TEST,
    cst.Comparison: COMPARE,
    cst.Await: AWAIT,
    cst.Integer: NUMBER,
    cst.Float: NUMBER,
    cst.Imaginary: NUMBER,
    cst.Attribute: PRIMARY,
    cst.Call: PRIMARY,
    cst.Subscript: PRIMARY,
    cst.ConcatenatedString: PRIMARY,
}


def level(node: cst.BaseExpression) -> int:
    """How tightly the expression binds, as it is written."""
    if node.lpar:
        return ATOM
    if isinstance(node, cst.BinaryOperation | cst.BooleanOperation):
        return _BINARY[type(node.operator)]
    if isinstance(node, cst.UnaryOperation):
        return NOT if isinstance(node.operator, cst.Not) else UNARY
    return _LEVELS.get(type(node), ATOM)


_SLOTS: dict[type[cst.CSTNode], dict[str, Slot]] = {
    cst.Attribute: {"value": Slot(PRIMARY), "attr": _NAME},
    cst.Call: {"func": Slot(PRIMARY)},
    cst.Subscript: {"value": Slot(PRIMARY)},
    cst.Await: {"expression": Slot(PRIMARY)},
    cst.IfExp: {"body": Slot(OR), "test": Slot(OR)},
    cst.Comparison: {"left": Slot(BIT_OR)},
    cst.ComparisonTarget: {"comparator": Slot(BIT_OR)},
    cst.NamedExpr: {"target": _NAME},
    cst.Slice: {"lower": Slot(OR), "upper": Slot(OR), "step": Slot(OR)},
    cst.StarredElement: {"value": Slot(BIT_OR)},
    cst.StarredDictElement: {"value": Slot(BIT_OR)},
    cst.DictElement: {"key": Slot(OR)},
    cst.DictComp: {"key": Slot(OR)},
    cst.CompFor: {"iter": Slot(OR), "target": Slot(TUPLE, SlotKind.TARGET)},
    cst.CompIf: {"test": Slot(OR)},
    cst.For: {"iter": Slot(TUPLE), "target": Slot(TUPLE, SlotKind.TARGET)},
    cst.Return: {"value": Slot(TUPLE)},
    cst.Yield: {"value": Slot(TUPLE)},
    cst.Expr: {"value": Slot(YIELD)},
    cst.Assign: {"value": Slot(YIELD)},
    cst.AugAssign: {"value": Slot(YIELD), "target": Slot(TEST, SlotKind.SINGLE)},
    cst.AnnAssign: {"value": Slot(YIELD), "target": Slot(TEST, SlotKind.SINGLE)},
    cst.AssignTarget: {"target": Slot(TUPLE, SlotKind.TARGET)},
    cst.Del: {"target": Slot(TUPLE, SlotKind.TARGET)},
    cst.FormattedStringExpression: {"expression": Slot(OR)},
    cst.ConcatenatedString: {"left": _FIXED, "right": _FIXED},
    cst.ImportAlias: {"name": _DOTTED},
    cst.ImportFrom: {"module": _DOTTED},
    cst.NameItem: {"name": _NAME},
    cst.FunctionDef: {"name": _NAME},
    cst.ClassDef: {"name": _NAME},
    cst.Param: {"name": _NAME},
    cst.Arg: {"keyword": _NAME},
    cst.TypeVar: {"name": _NAME},
    cst.TypeVarTuple: {"name": _NAME},
    cst.ParamSpec: {"name": _NAME},
    cst.TypeAlias: {"name": _NAME},
    cst.MatchAs: {"name": _NAME},
    cst.MatchStar: {"name": _NAME},
    cst.MatchMapping: {"rest": _NAME},
    cst.MatchKeywordElement: {"key": _NAME},
    cst.MatchClass: {"cls": _DOTTED},
}
if hasattr(cst, "TemplatedStringExpression"):  # libcst 1.8.3 and later know t-strings
    _SLOTS[cst.TemplatedStringExpression] = {"expression": Slot(OR)}

_PATTERNS: tuple[type[cst.CSTNode], ...] = (cst.MatchPattern, cst.MatchMappingElement, cst.MatchKeywordElement)


def slot(node: cst.CSTNode, parents: Mapping[cst.CSTNode, cst.CSTNode]) -> Slot:
    """What the place of this expression asks for."""
    parent = parents.get(node)
    if parent is None:
        return Slot()
    found = _own_slot(node, parent)
    if found is not None and found.kind is not SlotKind.VALUE:
        return found
    if _inside_pattern(parent, parents):
        return _FIXED
    if isinstance(parent, cst.Element | cst.StarredElement) and _is_target(parents[parent], parents):
        return Slot(TEST, SlotKind.TARGET)
    if isinstance(parent, cst.AsName):
        return Slot(TEST, SlotKind.TARGET) if isinstance(parents[parent], cst.WithItem) else _NAME
    if isinstance(parent, cst.Attribute) and _inside_import(parent, parents):
        return _DOTTED
    return found or Slot()


def _own_slot(node: cst.CSTNode, parent: cst.CSTNode) -> Slot | None:
    if isinstance(parent, cst.BinaryOperation | cst.BooleanOperation):
        own = _BINARY[type(parent.operator)]
        if own == POWER:
            return Slot(AWAIT) if node is parent.left else Slot(UNARY)
        return Slot(own if node is parent.left else own + 1)
    if isinstance(parent, cst.Element) or (isinstance(parent, cst.Arg) and node is parent.value):
        if isinstance(parent, cst.Element):
            return Slot(member=Member.ELEMENT)
        return Slot() if parent.star or parent.keyword else Slot(member=Member.ARGUMENT)
    if isinstance(parent, cst.UnaryOperation):
        return Slot(NOT if isinstance(parent.operator, cst.Not) else UNARY)
    for name, wanted in _SLOTS.get(type(parent), {}).items():
        if getattr(parent, name) is node:
            return wanted
    return None


def _inside_pattern(node: cst.CSTNode | None, parents: Mapping[cst.CSTNode, cst.CSTNode]) -> bool:
    while node is not None and not isinstance(node, cst.BaseStatement | cst.BaseSmallStatement | cst.MatchCase):
        if isinstance(node, _PATTERNS):
            return True
        node = parents.get(node)
    return False


def _inside_import(node: cst.CSTNode, parents: Mapping[cst.CSTNode, cst.CSTNode]) -> bool:
    while isinstance(node, cst.Attribute):
        node = parents[node]
    return isinstance(node, cst.ImportAlias | cst.ImportFrom)


def _is_target(node: cst.CSTNode, parents: Mapping[cst.CSTNode, cst.CSTNode]) -> bool:
    """Whether this tuple or list (or what it is part of) is assigned to."""
    return isinstance(node, cst.Tuple | cst.List) and slot(node, parents).kind is SlotKind.TARGET


def in_target(node: cst.CSTNode, parents: Mapping[cst.CSTNode, cst.CSTNode]) -> bool:
    """Whether the expression stands where it is assigned to."""
    return slot(node, parents).kind in (SlotKind.TARGET, SlotKind.SINGLE)


def is_name(node: cst.CSTNode) -> bool:
    """An identifier that can be bound (`None` is a Name to libcst)."""
    return isinstance(node, cst.Name) and not node.lpar and not keyword.iskeyword(node.value)


def is_dotted(node: cst.CSTNode) -> bool:
    """Names joined by dots."""
    while isinstance(node, cst.Attribute) and not node.lpar:
        node = node.value
    return is_name(node)


def is_single_target(node: cst.CSTNode) -> bool:
    """Something that any assignment takes."""
    if isinstance(node, cst.Name):
        return not keyword.iskeyword(node.value)
    return isinstance(node, cst.Attribute | cst.Subscript)


def is_target(node: cst.CSTNode) -> bool:
    """Something that can be assigned to and deleted (so no starred parts)."""
    if isinstance(node, cst.Tuple | cst.List):
        return all(isinstance(e, cst.Element) and is_target(e.value) for e in node.elements)
    return is_single_target(node)
