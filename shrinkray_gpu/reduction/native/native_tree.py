"""The syntax tree of a CUDA C++ source, by tree-sitter, as nodes of our own.

tree-sitter makes its nodes anew each time they are asked for and counts bytes; edits need nodes that are themselves,
and characters. The grammar is that of CUDA (kernel launches, `__launch_bounds__`); what it does not know it is told in
words of the same length. Nothing of tree-sitter is imported before a source is to be read: most programs hold none.
Where it is not installed the passes that need a tree find nothing, and `can_parse` lets the tool say so.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

_ALIASES = (
    (re.compile(r"__align__(?=\s*\()"), "alignas  "),  # the grammar takes it for a function's name
    (re.compile(r"__grid_constant__"), "                 "),
    (re.compile(r"__builtin_align__(?=\s*\()"), "alignas          "),
)


@dataclass(eq=False)
class Node:
    """One node: its kind in the grammar, its field in the parent, and the characters it covers."""

    kind: str
    first: int
    last: int
    field: str = ""
    named: bool = True
    parent: Node | None = None
    children: list[Node] = dataclasses.field(default_factory=list)

    def child(self, name: str) -> Node | None:
        """The child in this field."""
        return next((each for each in self.children if each.field == name), None)

    def walk(self) -> Iterator[Node]:
        """This node and all below it, in the order of the text."""
        yield self
        for each in self.children:
            yield from each.walk()

    def above(self) -> Iterator[Node]:
        """Its ancestors, from the nearest."""
        up = self.parent
        while up is not None:
            yield up
            up = up.parent

    @property
    def members(self) -> list[Node]:
        """The named children that are no comments."""
        return [each for each in self.children if each.named and each.kind != "comment"]


@dataclass(frozen=True, eq=False)
class Tree:
    """A source and its nodes."""

    text: str
    root: Node
    errors: int
    """Places that the grammar makes nothing of. What lies in one is left alone."""

    def text_of(self, node: Node) -> str:
        return self.text[node.first : node.last]

    def nodes(self, *kinds: str) -> list[Node]:
        """All nodes, or those of these kinds, in the order of the text."""
        return [node for node in self.root.walk() if not kinds or node.kind in kinds]


@cache
def can_parse() -> bool:
    """Whether the grammar is there: the extra `cuda`."""
    return all(importlib.util.find_spec(name) is not None for name in ("tree_sitter", "tree_sitter_cuda"))


@cache
def _parser() -> Any:
    import tree_sitter_cuda
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_cuda.language()))


def parse(text: str) -> Tree:
    """The tree of any text: what is no C++ becomes nodes of the kind ERROR."""
    return _parsed(text)


@lru_cache(256)
def _parsed(text: str) -> Tree:
    known = text
    for pattern, alias in _ALIASES:
        known = pattern.sub(alias, known)
    data = known.encode("utf-8", "replace")
    places: list[int] | None = None
    if len(data) != len(text):
        places = [number for number, letter in enumerate(known) for _ in letter.encode("utf-8", "replace")]
        places.append(len(text))
    cursor = _parser().parse(data).walk()
    errors = 0

    def made(parent: Node | None) -> Node:
        nonlocal errors
        native: Any = cursor.node
        first, last = native.start_byte, native.end_byte
        if places is not None:
            first, last = places[first], places[last]
        node = Node(native.type, first, last, cursor.field_name or "", native.is_named, parent)
        errors += native.is_error or native.is_missing
        if cursor.goto_first_child():
            node.children.append(made(node))
            while cursor.goto_next_sibling():
                node.children.append(made(node))
            cursor.goto_parent()
        return node

    return Tree(text, made(None), errors)
