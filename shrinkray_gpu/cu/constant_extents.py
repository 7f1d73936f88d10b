"""Accesses that leave an array by numbers that the source itself tells: a second defect, where a reduction made it.

Two shapes are followed. A tile of WMMA is loaded from an array, or stored to one, that is too small for it, or with a
stride that makes its rows overlap. And a loop from a number to a number indexes an array that ends before.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from shrinkray_gpu.reduction.native.native_tree import Node, Tree
from shrinkray_gpu.source.cuda import is_inside

_DEFINED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?![\w(])(.*)$", re.MULTILINE)
_ATOM = re.compile(r"\w+|\([^()]*\)")
"""A macro's text that is a part of its own in any expression."""
_COMMENT = re.compile(r"//.*|/\*.*?\*/")
_SUFFIX = re.compile(r"\b(0[xX][\da-fA-F]+?|\d+)(?:[uU][lL]{0,2}|[lL]{1,2}[uU]?)\b")
_OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.floordiv,
    ast.Mod: operator.mod, ast.LShift: operator.lshift,
}  # fmt: skip
_ROUNDED = (ast.Div, ast.Mod)
"""Of a negative number C++ makes something else than Python."""
_EXTENTS = {"matrix_a": (0, 2), "matrix_b": (2, 1), "accumulator": (0, 1)}
"""Of the sizes M, N, K of a fragment: which are its rows and columns."""
_WORDS = ("u4", "s4", "b1")
"""Elements that are less than a byte: their arrays are of words."""
_CHOICES = ("if_statement", "conditional_expression", "switch_statement", "while_statement", "do_statement")
_JUMPS = ("break_statement", "continue_statement", "return_statement", "goto_statement", "throw_statement")
LARGEST = 1 << 40


@dataclass(frozen=True)
class _Array:
    first: int
    """Its first extent."""
    size: int
    """Elements of all extents."""


@dataclass(frozen=True)
class _Fragment:
    rows: int
    columns: int
    layout: str


class _Numbers:
    """The integers that the source names."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.texts: dict[str, str] = {}
        for name, value in _DEFINED.findall(tree.text):
            text = _COMMENT.sub("", value).strip()
            self._add(name, text if _ATOM.fullmatch(text) else "?")
        for node in tree.nodes("init_declarator"):
            name, value = node.child("declarator"), node.child("value")
            qualifiers = {tree.text_of(each) for each in node.parent.children} if node.parent is not None else set()
            if name is not None and value is not None and name.kind == "identifier":
                constant = qualifiers & {"constexpr", "const"}
                self._add(tree.text_of(name), tree.text_of(value) if constant else "?")
        for node in tree.nodes("parameter_declaration"):  # of a function, or a template
            name = node.child("declarator")
            if name is not None and name.kind == "identifier":
                self._add(tree.text_of(name), "?")

    def _add(self, name: str, text: str) -> None:
        self.texts[name] = "?" if self.texts.get(name, text) != text else text  # ?: not known, or of two kinds

    def of(self, text: str, depth: int = 8) -> int | None:
        """The value of an expression; None where it is not known."""
        try:
            return self._value(ast.parse(_SUFFIX.sub(r"\1", text.strip()), mode="eval").body, depth)
        except (SyntaxError, ValueError, ZeroDivisionError, RecursionError):
            return None

    def _value(self, node: ast.expr, depth: int) -> int | None:
        if isinstance(node, ast.Constant):
            return node.value if type(node.value) is int and node.value < LARGEST else None
        if isinstance(node, ast.Name) and node.id in self.texts and depth:
            return self.of(self.texts[node.id], depth - 1)
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            left, right = self._value(node.left, depth), self._value(node.right, depth)
            if left is not None and right is not None and 0 <= right < LARGEST:
                if isinstance(node.op, ast.LShift) and right > 40 or isinstance(node.op, _ROUNDED) and left < 0:
                    return None
                return int(_OPERATORS[type(node.op)](left, right))
        return None


def beyond(tree: Tree) -> frozenset[str]:
    """What is wrong by the source's own numbers, in words that name the array."""
    numbers = _Numbers(tree)
    arrays = dict(_arrays(tree, numbers))
    return frozenset((*_tiles(tree, numbers, arrays), *_loops(tree, numbers, arrays)))


def _arrays(tree: Tree, numbers: _Numbers) -> Iterator[tuple[str, _Array]]:
    """Those whose extents are numbers, but for names that others have too."""
    found: dict[str, _Array | None] = {}
    for node in tree.nodes("array_declarator"):
        if node.parent is not None and node.parent.kind == "array_declarator":
            continue
        extents: list[int | None] = []
        at: Node | None = node
        while at is not None and at.kind == "array_declarator":
            extent = at.child("size")
            extents.append(numbers.of(tree.text_of(extent)) if extent is not None else None)
            at = at.child("declarator")
        if at is None or at.kind != "identifier" or any(up.kind == "parameter_declaration" for up in node.above()):
            continue
        known = [each for each in extents if each is not None and each >= 0]
        array = _Array(known[-1], math.prod(known)) if len(known) == len(extents) else None
        name = tree.text_of(at)
        found[name] = array if found.get(name, array) == array else None
    return ((name, array) for name, array in found.items() if array is not None)


def _tiles(tree: Tree, numbers: _Numbers, arrays: Mapping[str, _Array]) -> Iterator[str]:
    fragments = _fragments(tree, numbers)
    for call in tree.nodes("call_expression"):
        function, given = call.child("function"), call.child("arguments")
        if function is None or given is None or len(given.members) < 3:
            continue
        name = tree.text_of(function).rpartition("::")[2]
        if name not in ("load_matrix_sync", "store_matrix_sync"):
            continue
        texts = [tree.text_of(each) for each in given.members]
        tile, array = (texts[0], texts[1]) if name.startswith("load") else (texts[1], texts[0])
        fragment, stride = fragments.get(tile), numbers.of(texts[2])
        if stride == 0:
            yield f"{name} has a stride of 0"
        if fragment is None or not stride:
            continue
        layout = texts[3].rpartition("mem_")[2] if len(texts) > 3 else fragment.layout
        if layout not in ("row_major", "col_major"):
            continue
        rows, columns = fragment.rows, fragment.columns
        outer, inner = (rows, columns) if layout == "row_major" else (columns, rows)
        if stride < inner:
            yield f"{name} has a stride of less than a row"
        if array in arrays and arrays[array].size < (outer - 1) * stride + inner:
            yield f"{name} leaves {array}"


def _fragments(tree: Tree, numbers: _Numbers) -> Mapping[str, _Fragment]:
    found: dict[str, _Fragment] = {}
    for node in tree.nodes("template_type"):
        name, given = node.child("name"), node.child("arguments")
        declaration = next((up for up in node.above() if up.kind == "declaration"), None)
        if name is None or given is None or declaration is None or tree.text_of(name) != "fragment":
            continue
        texts = [tree.text_of(each).rpartition("::")[2] for each in given.members]
        sizes = [numbers.of(each) for each in texts[1:4]]
        if len(texts) < 5 or texts[0] not in _EXTENTS or None in sizes or texts[4] in _WORDS:
            continue
        rows, columns = (sizes[at] or 0 for at in _EXTENTS[texts[0]])
        fragment = _Fragment(rows, columns, texts[5] if len(texts) > 5 else "")
        for each in declaration.children:
            if each.field == "declarator":
                found[tree.text_of(each)] = fragment
    return found


def _loops(tree: Tree, numbers: _Numbers, arrays: Mapping[str, _Array]) -> Iterator[str]:
    for loop in tree.nodes("for_statement"):
        counted, body = _last(tree, numbers, loop), loop.child("body")
        if counted is None or body is None or any(node.kind in _JUMPS for node in body.walk()):
            continue
        name, last = counted
        if _is_set(tree, body, name):
            continue
        for node in body.walk():
            array, index = node.child("argument"), node.child("indices")
            if node.kind != "subscript_expression" or array is None or index is None or array.kind != "identifier":
                continue
            known = arrays.get(tree.text_of(array))
            if known is None or tree.text_of(index).strip("[] ") != name or last < known.first:
                continue
            if not any(_is_choice(tree, up) for up in node.above() if is_inside(up, body)):
                yield f"a loop leaves {tree.text_of(array)}"


def _is_set(tree: Tree, body: Node, name: str) -> bool:
    """Whether something in there sets it, or is called so itself."""
    fields = {"assignment_expression": "left", "update_expression": "argument", "init_declarator": "declarator"}
    named = (node.child(fields[node.kind]) for node in body.walk() if node.kind in fields)
    return any(each is not None and tree.text_of(each) == name for each in named)


def _is_choice(tree: Tree, node: Node) -> bool:
    operator = node.child("operator")
    return node.kind in _CHOICES or (operator is not None and tree.text_of(operator) in ("&&", "||"))


def _last(tree: Tree, numbers: _Numbers, loop: Node) -> tuple[str, int] | None:
    """The counter of `for (int i = 0; i < 256; ++i)`, and its last value."""
    condition, update = loop.child("condition"), loop.child("update")
    if condition is None or update is None or condition.kind != "binary_expression":
        return None
    left, right = condition.child("left"), condition.child("right")
    if left is None or right is None or left.kind != "identifier":
        return None
    name, compared = tree.text_of(left), tree.text[left.last : right.first].strip()
    end = numbers.of(tree.text_of(right))
    if end is None or compared not in ("<", "<=") or tree.text_of(update) not in (f"++{name}", f"{name}++"):
        return None
    return name, end - (compared == "<")
