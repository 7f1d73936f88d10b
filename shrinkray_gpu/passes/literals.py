"""Literals: which nodes are plain values, what value, and how to write one. Passes move values about by these."""

from __future__ import annotations

import ast
import re
from typing import TypeAlias

import libcst as cst

Value: TypeAlias = "None | bool | int | float | complex | str | bytes | tuple[Value, ...] | list[Value] | dict[Value, Value]"

_TOKEN = re.compile(r"\w+|[^\w\s]")
_NOWHERE = cst.Module([])


class NotLiteral(Exception):
    """The node is no plain value."""


def code(node: cst.CSTNode) -> str:
    """Source text of a node, without its own parentheses' surroundings in the file."""
    return _NOWHERE.code_for_node(node)


def tokens(text: str) -> int:
    """About how many tokens a text has: enough to weigh one edit against another."""
    return len(_TOKEN.findall(text))


def value_of(node: cst.CSTNode) -> Value:
    """The value of a literal (numbers with their sign, strings, names of constants, and containers of these)."""
    try:
        return ast.literal_eval(code(node).strip())  # type: ignore[no-any-return]
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise NotLiteral from error


def is_literal(node: cst.CSTNode) -> bool:
    if isinstance(node, (cst.Integer, cst.Float, cst.Imaginary, cst.SimpleString)):
        return True
    if not isinstance(node, (cst.Name, cst.UnaryOperation, cst.ConcatenatedString, cst.Tuple, cst.List, cst.Dict)):
        return False
    try:
        value_of(node)
    except NotLiteral:
        return False
    return True


def is_scalar(node: cst.CSTNode) -> bool:
    """A literal without parts: it may stand in many places without making the program larger."""
    return is_literal(node) and not isinstance(node, (cst.Tuple, cst.List, cst.Dict))


def dotted(node: cst.CSTNode) -> str:
    """`torch.cuda.synchronize` for such a chain of names, else the empty string."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr.value}" if base else ""
    return ""


def last_name(node: cst.CSTNode) -> str:
    """`rmtree` for `rmtree`, `shutil.rmtree` and `anything().rmtree`: what a callee calls itself."""
    if isinstance(node, cst.Name):
        return node.value
    return node.attr.value if isinstance(node, cst.Attribute) else ""
