"""What the passes on CUDA C++ share: edits of a literal, names and where they stand, statements, depth, weight."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property

from shrinkray_gpu.reduction.edit import Edit, Within
from shrinkray_gpu.reduction.native.code import amount
from shrinkray_gpu.reduction.native.literal import Literal
from shrinkray_gpu.reduction.native.native_change import Drop, NativeChange, Put
from shrinkray_gpu.reduction.native.native_tree import Node, Tree, can_parse
from shrinkray_gpu.reduction.native.native_writer import BLOCKS
from shrinkray_gpu.reduction.program import Program

NAMES = frozenset({"identifier", "type_identifier", "field_identifier", "namespace_identifier", "statement_identifier"})
_RECORDS = ("struct_specifier", "class_specifier", "enum_specifier", "union_specifier")


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
                for word in dict.fromkeys(words(self.of(node))):
                    found[word].append(node)
        return found

    def uses(self, name: Node | None, inside: Node | None = None) -> list[Node]:
        """Where else a name stands, within a node if one is given."""
        places = self.names.get(self.of(name), []) if name is not None else []
        return [use for use in places if use is not name and (inside is None or is_inside(use, inside))]

    def declares(self, node: Node) -> set[str]:
        """The names that a definition, declaration or macro gives something."""
        return {self.of(name) for name in declared_names(node)}

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


def is_a_file(program: Program) -> bool:
    """Whether it is one .cu and no script: then no Python says a name of it but `main`."""
    return len(program.literals) == 1 and can_parse() and outside_words(program).keys() <= {"main"}


def rewrite(literal: Literal, what: str, text: str, weight: int = 1) -> Edit:
    """Another text for all of a literal."""
    whole = replace(literal, grammar=_as_one)
    return Edit(what, (Within(whole, Put(whole.tree.root, (text,))),), weight=max(1, weight))


def _as_one(text: str) -> Tree:
    return Tree(text, Node("source", 0, len(text)), 0)


def words(text: str) -> list[str]:
    """The names and keywords in it, in order."""
    return re.findall(r"\b[^\W\d]\w*", text)


def depth(node: Node) -> int:
    """Blocks around a node."""
    return sum(1 for up in node.above() if up.kind in BLOCKS)


def enclosing(node: Node, *kinds: str) -> Node | None:
    """The nearest node of these kinds around a node."""
    return next((up for up in node.above() if up.kind in kinds), None)


def outermost(node: Node, *kinds: str) -> Node:
    """The last of the nodes of these kinds that directly surround each other and this node, which may be none."""
    while node.parent is not None and node.parent.kind in kinds:
        node = node.parent
    return node


def statement_of(node: Node) -> Node | None:
    """The innermost statement, definition or directive that a node is part of."""
    around = (each for each in (node, *node.above()) if each.parent is not None and each.parent.kind in BLOCKS)
    return next((each for each in around if each.named), None)


def statements(block: Node) -> list[Node]:
    """The members of a block that may go."""
    conditional = block.kind in ("preproc_if", "preproc_ifdef", "preproc_elif", "case_statement")
    skipped = ("condition", "name", "value", "alternative") if conditional else ()
    members = (each for each in block.members if each.field not in skipped)
    return [each for each in members if each.kind not in ("access_specifier", "preproc_directive")]


def items_of(block: Node) -> Iterator[Node]:
    """Definitions and directives at the top, and in namespaces and `extern "C"`."""
    for node in statements(block):
        body = next((each for each in node.children if each.kind == "declaration_list"), None)
        if node.kind in ("namespace_definition", "linkage_specification") and body is not None:
            yield from items_of(body)
        else:
            yield node


def reached(source: Source, items: list[Node], roots: Iterable[Node]) -> set[Node]:
    """These roots, and the items that they lead to by the names that they mention."""
    names = {item: source.declares(item) for item in items}
    mentions: dict[Node, set[str]] = {item: set() for item in items}
    for word, places in source.names.items():
        for item in items:
            if any(is_inside(place, item) for place in places):
                mentions[item].add(word)
    found: set[Node] = set()
    todo = list(roots)
    while todo:
        item = todo.pop()
        if item not in found:
            found.add(item)
            todo += [each for each in items if each not in found and names[each] & mentions[item]]
    return found


def unwrap_definition(node: Node) -> Node:
    """A definition without its `template <...>`, and without the `extern "C"` of one definition alone."""
    while node.kind in ("template_declaration", "linkage_specification") and node.members:
        if node.members[-1].kind == "declaration_list":
            return node
        node = node.members[-1]
    return node


def declared_names(node: Node) -> list[Node]:
    """The names that a definition, declaration or macro gives something."""
    node = unwrap_definition(node)
    if node.kind in ("preproc_def", "preproc_function_def", "alias_declaration", "concept_definition", *_RECORDS):
        return [name] if (name := node.child("name")) is not None else []
    kind = node.child("type")
    record = kind if kind is not None and kind.kind in _RECORDS and kind.child("body") is not None else None
    names = [record.child("name") if record is not None else None]
    names += [declarator_name(each) for each in node.children if each.field == "declarator"]
    return [name for name in names if name is not None]


def declarator_name(node: Node | None) -> Node | None:
    """`x` of `*x[3] = {1}`."""
    while node is not None and node.kind not in NAMES:
        parts = (each for each in node.members if each.kind.endswith("declarator") or each.kind in NAMES)
        node = node.child("declarator") or next(parts, None)
    return node


_WARP_WIDE = re.compile(r"\bwmma\b|\b\w+_sync\s*\(|\bw?g?mma[._]")


def is_warp_wide(source: Source) -> bool:
    """Whether its kernels have operations of a whole warp: with one thread they mean nothing."""
    return _WARP_WIDE.search(source.text) is not None


def function_of(node: Node) -> Node | None:
    """The parameter list's owner: the function_declarator of a definition or declaration."""
    return next((each for each in unwrap_definition(node).walk() if each.kind == "function_declarator"), None)


def is_overloaded(source: Source, name: str) -> bool:
    """Whether several functions have this name, as constructors have: a list of arguments may be any one's."""
    found = (declarator_name(function_of(each)) for each in source.tree.nodes("function_definition"))
    return sum(each is not None and source.of(each) == name for each in found) > 1


def arguments_of(use: Node) -> Node | None:
    """The list of arguments or parameters that belongs to this mention of a function."""
    node = outermost(use, "template_function", "qualified_identifier")
    up = node.parent
    if up is None:
        return None
    if up.kind == "call_expression" and up.child("function") is node:
        return up.child("arguments")
    return up.child("parameters") if up.kind == "function_declarator" else None


def is_operand(node: Node) -> bool:
    """Whether an expression in the place of this one may need parentheses."""
    kinds = ("argument_list", "init_declarator", "return_statement", "parenthesized_expression", "initializer_list")
    return node.parent is not None and node.parent.kind not in kinds


def is_inside(node: Node, outer: Node) -> bool:
    return outer.first <= node.first and node.last <= outer.last


def outside_words(program: Program) -> Counter[str]:
    """How often each word stands in the Python text between the literals."""
    ends = [program.layout.inner[literal.node] for literal in program.literals]
    starts = [0, *(last for _, last in ends)]
    pieces = [program.text[at:first] for at, (first, _) in zip(starts, [*ends, (len(program.text), 0)])]
    return Counter(words(" ".join(pieces)))
