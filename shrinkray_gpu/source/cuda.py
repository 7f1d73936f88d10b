"""What the passes on CUDA C++ share: edits of a literal, names and where they stand, statements, depth, weight."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property

from shrinkray_gpu.reduction.edit import Edit, Within
from shrinkray_gpu.reduction.native.code import amount
from shrinkray_gpu.reduction.native.literal import Literal
from shrinkray_gpu.reduction.native.native_change import Drop, NativeChange, Put
from shrinkray_gpu.reduction.native.native_tree import Node, can_parse
from shrinkray_gpu.reduction.native.native_writer import BLOCKS
from shrinkray_gpu.reduction.program import Program

NAMES = frozenset({"identifier", "type_identifier", "field_identifier", "namespace_identifier", "statement_identifier"})
FUNCTIONS = frozenset({"function_definition", "template_declaration"})


class Source:
    """One literal, and what the passes ask of it again and again."""

    def __init__(self, literal: Literal) -> None:
        self.literal, self.tree, self.text = literal, literal.tree, literal.source

    @cached_property
    def names(self) -> dict[str, list[Node]]:
        """Where each name stands, in the order of the text; macro bodies, which are no nodes, as their directive."""
        found: dict[str, list[Node]] = defaultdict(list)
        for node in self.tree.root.walk():
            if node.kind in NAMES:
                found[self.of(node)].append(node)
            elif node.kind == "preproc_arg":
                for word in words(self.of(node)):
                    found[word].append(node)
        return found

    def of(self, node: Node) -> str:
        return self.text[node.first : node.last]

    def line(self, node: Node) -> int:
        return self.text.count("\n", 0, node.first) + 1

    def weight(self, nodes: Iterable[Node]) -> int:
        return sum(amount(self.of(node)).tokens for node in nodes)

    def edit(self, what: str, *changes: NativeChange, level: int = 0, weight: int = 1) -> Edit:
        return Edit(what, tuple(Within(self.literal, change) for change in changes), level=level, weight=weight)

    def drop(self, what: str, nodes: Iterable[Node], level: int = 0) -> Edit:
        nodes = tuple(nodes)
        return self.edit(what, *map(Drop, nodes), level=level, weight=self.weight(nodes))

    def put(self, what: str, node: Node, *by: str | Node | tuple[Node, ...], level: int = 0) -> Edit:
        kept = [part for part in by if not isinstance(part, str)]
        left = self.weight(each for part in kept for each in (part if isinstance(part, tuple) else (part,)))
        return self.edit(what, Put(node, tuple(by)), level=level, weight=max(1, self.weight([node]) - left))


def sources(program: Program) -> list[Source]:
    """Of all literals; worked out once a program. None where there is no grammar to read them by."""
    found = program.notes.get("cuda sources")
    if found is None:
        readable = program.literals if can_parse() else ()
        found = program.notes["cuda sources"] = [Source(literal) for literal in readable]
    return list(found)


def words(text: str) -> set[str]:
    word, out = "", set()
    for letter in text + " ":
        if letter.isalnum() or letter == "_":
            word += letter
        else:
            out.add(word)
            word = ""
    return {each for each in out if each and not each[0].isdigit()}


def depth(node: Node) -> int:
    """Blocks around a node."""
    return sum(1 for up in node.above() if up.kind in BLOCKS)


def sound(node: Node) -> bool:
    """Whether the grammar understood all of it."""
    return not any(each.kind == "ERROR" or (each.first == each.last and not each.children) for each in node.walk())


def statement_of(node: Node) -> Node | None:
    """The innermost statement, definition or directive that a node is part of."""
    here: Node | None = node
    while here is not None and here.parent is not None:
        if here.parent.kind in BLOCKS and here.named:
            return here
        here = here.parent
    return None


def statements(block: Node) -> list[Node]:
    """The members of a block that may go."""
    skipped = ("comment", "access_specifier", "preproc_directive")
    if block.kind in ("preproc_if", "preproc_ifdef", "preproc_elif", "case_statement"):
        return [
            each
            for each in block.members
            if each.field not in ("condition", "name", "value", "alternative") and each.kind not in skipped
        ]
    return [each for each in block.members if each.kind not in skipped]


def unwrap_definition(node: Node) -> Node:
    """A definition without its `template <...>`, and without the `extern "C"` of one definition alone."""
    while node.kind in ("template_declaration", "linkage_specification") and node.members:
        if node.members[-1].kind == "declaration_list":
            return node
        node = node.members[-1]
    return node


def declared_names(source: Source, node: Node) -> list[Node]:
    """The names that a definition, declaration or macro gives something."""
    node = unwrap_definition(node)
    if node.kind in ("preproc_def", "preproc_function_def", "alias_declaration", "concept_definition"):
        name = node.child("name")
        return [name] if name is not None else []
    out: list[Node] = []
    kind = node.child("type")
    if kind is not None and kind.kind in ("struct_specifier", "class_specifier", "enum_specifier", "union_specifier"):
        if kind.child("body") is not None and (name := kind.child("name")) is not None:
            out.append(name)
    if node.kind in ("struct_specifier", "class_specifier", "enum_specifier", "union_specifier"):
        return [name] if (name := node.child("name")) is not None else []
    for each in node.children:
        if each.field == "declarator" and (name := declarator_name(each)) is not None:
            out.append(name)
    return out


def declarator_name(node: Node) -> Node | None:
    """`x` of `*x[3] = {1}`."""
    while node.kind not in NAMES:
        inner = node.child("declarator")
        if inner is None:
            inner = next(
                (each for each in node.members if each.kind.endswith("declarator") or each.kind in NAMES), None
            )
        if inner is None:
            return None
        node = inner
    return node


_WARP_WIDE = re.compile(r"\bwmma\b|\b\w+_sync\s*\(|\bw?g?mma[._]")


def is_warp_wide(source: Source) -> bool:
    """Whether its kernels have operations of a whole warp: with one thread they mean nothing."""
    return _WARP_WIDE.search(source.text) is not None


def function_of(node: Node) -> Node | None:
    """The parameter list's owner: the function_declarator of a definition or declaration."""
    return next((each for each in unwrap_definition(node).walk() if each.kind == "function_declarator"), None)


def is_inside(node: Node, outer: Node) -> bool:
    return outer.first <= node.first and node.last <= outer.last


def outside_text(program: Program) -> Iterator[str]:
    """The Python text between the literals."""
    at = 0
    for literal in program.literals:
        first, last = program.layout.inner[literal.node]
        yield program.text[at:first]
        at = last
    yield program.text[at:]
