"""Literals: which nodes are plain values, and what value. Passes move values about by these questions."""

from __future__ import annotations

import ast
from typing import Any

import libcst as cst

_NOWHERE = cst.Module([])
_MAY_BE = (cst.Name, cst.UnaryOperation, cst.ConcatenatedString, cst.Tuple, cst.List, cst.Dict)


class NotLiteral(Exception):
    """The node is no plain value."""


def code(node: cst.CSTNode) -> str:
    """Source text of a node, its own parentheses included."""
    return _NOWHERE.code_for_node(node)


def value_of(node: cst.CSTNode) -> Any:
    """The value of a literal: numbers with their sign, strings, None, True, False, and containers of these."""
    try:
        return ast.literal_eval(code(node).strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise NotLiteral from error


def is_literal(node: cst.CSTNode) -> bool:
    if isinstance(node, (cst.Integer, cst.Float, cst.Imaginary, cst.SimpleString)):
        return True
    if not isinstance(node, _MAY_BE):
        return False
    try:
        value_of(node)
    except NotLiteral:
        return False
    return True


def is_scalar(node: cst.CSTNode) -> bool:
    """A literal without parts: it may stand in many places without making the program larger."""
    return is_literal(node) and not isinstance(node, (cst.Tuple, cst.List, cst.Dict))


def last_name(node: cst.CSTNode) -> str:
    """`rmtree` for `rmtree`, `shutil.rmtree` and `anything().rmtree`: what a callee calls itself."""
    if isinstance(node, cst.Name):
        return node.value
    return node.attr.value if isinstance(node, cst.Attribute) else ""


def entries_of(table: cst.BaseExpression) -> dict[object, cst.BaseExpression] | None:
    """Key and value nodes of `{"a": 1}`, `dict(a=1)` and `SimpleNamespace(a=1)`."""
    entries: dict[object, cst.BaseExpression] = {}
    if isinstance(table, cst.Dict):
        for element in table.elements:
            if not isinstance(element, cst.DictElement) or not is_scalar(element.key):
                return None
            entries[value_of(element.key)] = element.value
        return entries
    if isinstance(table, cst.Call) and last_name(table.func) in ("dict", "SimpleNamespace", "Namespace"):
        for arg in table.args:
            if arg.keyword is None:
                return None
            entries[arg.keyword.value] = arg.value
        return entries
    return None
