"""Where every node of a syntax tree stands in the text: one walk of libcst's own code generator, and nothing else.

The position, span and parent providers of libcst would each walk the tree again and leave out what rendering needs: the
whole text of a node with its comments and newline, and the places where a line's indentation begins.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from operator import itemgetter
from typing import Any, TypeAlias, TypeVar

import libcst as cst
from libcst._nodes.internal import CodegenState

Span: TypeAlias = tuple[int, int]
N = TypeVar("N", bound=cst.CSTNode)

_TRAILING = frozenset({cst.Comma, cst.Semicolon, cst.SimpleWhitespace, cst.ParenthesizedWhitespace})
"""What may follow the proper text of a list member or a small statement within its node."""


@dataclass(frozen=True, eq=False)
class Layout:
    """All offsets count characters of `text`."""

    text: str
    outer: dict[cst.CSTNode, Span]
    """The whole of a node: leading lines, own parentheses, comma, trailing comment and newline."""
    inner: dict[cst.CSTNode, Span]
    """The node as a reader would point at it: without own parentheses, decorators, surrounding whitespace."""
    parents: dict[cst.CSTNode, cst.CSTNode]
    children: dict[cst.CSTNode, list[cst.CSTNode]]
    """In the order of the text, whitespace nodes too."""
    indent_of: dict[cst.CSTNode, str]
    """The indentation of the line on which a statement, clause or decorator starts."""
    indent_starts: list[int]
    indent_ends: list[int]
    """Where the indentation of a line begins and ends: of statements, comments, and those continuation lines inside
    brackets that have at least the block's columns. Lines of a multi-line string are not among them, so re-indenting
    cannot touch these."""

    def nodes(self, *kinds: type[N]) -> list[N]:
        """All nodes of these kinds, an inner one before what it stands in. Each pass asks for several, of 140,000 nodes
        at 4,000 lines, and libcst's abstract classes are slow to ask of each: so they are asked of each type."""
        found = [entry for kind, entries in self._by_kind.items() if _is_one_of(kind, kinds) for entry in entries]
        return [node for _, node in sorted(found, key=itemgetter(0))]

    @cached_property
    def _by_kind(self) -> dict[type[cst.CSTNode], list[tuple[int, Any]]]:
        """The nodes by their type, each with its place in `outer`."""
        kinds: dict[type[cst.CSTNode], list[tuple[int, Any]]] = {}
        for entry in enumerate(self.outer):
            kinds.setdefault(type(entry[1]), []).append(entry)
        return kinds

    def above(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes around a node, innermost first."""
        while (parent := self.parents.get(node)) is not None:
            yield parent
            node = parent

    def core_end(self, node: cst.CSTNode) -> int:
        """The end of a list member or small statement without its comma, semicolon and whitespace."""
        end = self.outer[node][1]
        for child in reversed(self.children[node]):
            if type(child) not in _TRAILING:
                break
            end = self.outer[child][0]
        return end

    def reindent(self, start: int, end: int, old: str, new: str, *, midline: bool = False) -> str:
        """The text of a stretch with the indent columns `old` of its logical lines written as `new`. If the stretch
        begins `midline`, the indentation before it is not its own, even where that is no columns wide."""
        text, starts, ends = self.text, self.indent_starts, self.indent_ends
        out: list[str] = []
        at = bisect_right(starts, start) if midline else bisect_left(starts, start)
        while at < len(starts) and starts[at] < end:
            first, last = starts[at], ends[at]
            indent = text[first:last]
            out.append(text[start:first])
            if text[last : last + 1] == "\n":
                pass  # a blank line needs no indentation
            elif indent.startswith(old):
                out.append(new + indent[len(old) :])
            else:
                out.append(indent)
            start = last
            at += 1
        out.append(text[start:end])
        return "".join(out)


@cache
def _is_one_of(kind: type, kinds: tuple[type, ...]) -> bool:
    return issubclass(kind, kinds)


@dataclass
class _Walk(CodegenState):
    """libcst's code generator drives it; instead of text it collects offsets."""

    position: int = 0
    stack: list[tuple[cst.CSTNode, int]] = field(default_factory=list)
    outer: dict[cst.CSTNode, Span] = field(default_factory=dict)
    inner: dict[cst.CSTNode, Span] = field(default_factory=dict)
    parents: dict[cst.CSTNode, cst.CSTNode] = field(default_factory=dict)
    children: dict[cst.CSTNode, list[cst.CSTNode]] = field(default_factory=dict)
    indent_of: dict[cst.CSTNode, str] = field(default_factory=dict)
    indent_starts: list[int] = field(default_factory=list)
    indent_ends: list[int] = field(default_factory=list)

    def add_token(self, value: str) -> None:
        self.tokens.append(value)
        self.position += len(value)

    def add_indent_tokens(self) -> None:
        indent = "".join(self.indent_tokens)
        self.tokens.append(indent)
        self.indent_of[self.stack[-1][0]] = indent
        self.indent_starts.append(self.position)
        self.position += len(indent)
        self.indent_ends.append(self.position)

    def before_codegen(self, node: cst.CSTNode) -> None:
        if self.stack:
            parent = self.stack[-1][0]
            self.parents[node] = parent
            self.children[parent].append(node)
        self.children[node] = []
        self.stack.append((node, self.position))

    def after_codegen(self, node: cst.CSTNode) -> None:
        _, start = self.stack.pop()
        self.outer[node] = (start, self.position)
        self.inner.setdefault(node, (start, self.position))

    @contextmanager
    def record_syntactic_position(
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> Iterator[None]:
        start = self.position
        yield
        first = start if start_node is None else self.inner[start_node][0]
        last = self.position if end_node is None else self.inner[end_node][1]
        self.inner[node] = (first, last)


def lay_out(module: cst.Module) -> Layout:
    """Walk the module once."""
    walk = _Walk(default_indent=module.default_indent, default_newline=module.default_newline)
    module._codegen(walk)
    return Layout(
        "".join(walk.tokens),
        walk.outer,
        walk.inner,
        walk.parents,
        walk.children,
        walk.indent_of,
        walk.indent_starts,
        walk.indent_ends,
    )
