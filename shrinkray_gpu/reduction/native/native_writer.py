"""Writes a CUDA C++ source with some changes made; what depends on the other changes of the subset is decided here.

Commas go with what is left of a list; a statement that is a whole line goes with its line, one that is all of a loop's
body leaves `;`; an emptied `template <>` goes; an expression gets parentheses unless its place or its kind needs none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from shrinkray_gpu.reduction.native.native_change import Drop, NativeChange, Part
from shrinkray_gpu.reduction.native.native_tree import Node, Tree

Piece: TypeAlias = "str | tuple[int, int]"
"""New text, or a stretch of the source."""

BLOCKS = frozenset(
    "translation_unit compound_statement declaration_list field_declaration_list preproc_if preproc_ifdef preproc_else "
    "preproc_elif preproc_elifdef case_statement".split()
)
"""Nodes whose members are statements, definitions or directives, each of which may go."""
LISTS = frozenset(
    "argument_list parameter_list template_argument_list template_parameter_list initializer_list enumerator_list "
    "subscript_argument_list kernel_call_syntax field_initializer_list launch_bounds".split()
)
"""Nodes whose members have commas between them."""
BODIES = frozenset(
    {"for_statement", "while_statement", "do_statement", "if_statement", "else_clause", "for_range_loop"}
)
"""Nodes with a statement that must stay one: `;` is the least."""
WITH_PARENT = frozenset({"template_declaration", "linkage_specification", "friend_declaration"})
"""Nodes that go with what they are about."""
OPTIONAL = frozenset(
    "else_clause preproc_else preproc_elif launch_bounds type_qualifier storage_class_specifier alignas_qualifier "
    "alignas_specifier attribute_specifier attribute_declaration virtual comment".split()
)
"""Nodes that their place can do without."""
SAFE = frozenset(
    "argument_list parenthesized_expression subscript_argument_list initializer_list return_statement "
    "expression_statement init_declarator condition_clause kernel_call_syntax launch_bounds".split()
)
"""Places where an expression of any kind but a comma expression stands by itself."""
WHOLE = frozenset(
    "identifier field_identifier type_identifier namespace_identifier primitive_type number_literal string_literal "
    "char_literal true false null nullptr this call_expression subscript_expression field_expression "
    "parenthesized_expression template_function qualified_identifier compound_literal_expression type_descriptor "
    "template_type sized_type_specifier".split()
)
"""Kinds that hold together by themselves."""
OPERANDS = frozenset(
    "binary_expression unary_expression pointer_expression cast_expression conditional_expression call_expression "
    "subscript_expression field_expression assignment_expression update_expression sizeof_expression "
    "template_argument_list array_declarator static_assert_declaration comma_expression case_statement "
    "optional_parameter_declaration for_statement alignas_qualifier alignas_specifier bitfield_clause enumerator "
    "new_expression delete_expression initializer_pair return_statement".split()
)
_WORD = re.compile(r"\w+(?:\.\w*)?\Z")
_NAME_LIKE = re.compile(r"\w")


def write(tree: Tree, changes: Iterable[tuple[int, NativeChange]]) -> tuple[list[Piece], set[int]]:
    """The source with the changes made, in pieces, and the owners of changes that cannot stand where they are put."""
    writer = _Writer(tree, changes)
    return writer.pieces(), writer.misfits


class _Writer:
    def __init__(self, tree: Tree, changes: Iterable[tuple[int, NativeChange]]) -> None:
        self.tree, self.text = tree, tree.text
        self.misfits: set[int] = set()
        self.dropped: dict[Node, int] = {}
        self.put: dict[Node, tuple[int, tuple[Part, ...]]] = {}
        self.dirty: set[Node] = set()
        self.writing: list[Node] = []
        for owner, change in changes:
            if isinstance(change, Drop):
                self.dropped.setdefault(change.node, owner)
            else:
                self.put.setdefault(change.node, (owner, change.by))
            self.dirty.add(change.node)
            self.dirty.update(change.node.above())

    def pieces(self) -> list[Piece]:
        out: list[Piece] = []
        root = self.tree.root
        whole = self._emit(root) if root in self.put else self._inside(root, 0, len(self.text))
        for piece in whole:
            if piece == "" or (isinstance(piece, tuple) and piece[0] >= piece[1]):
                continue
            if out and _NAME_LIKE.match(self._end(out[-1])) and _NAME_LIKE.match(self._start(piece)):
                out.append(" ")
            out.append(piece)
        return out

    def _end(self, piece: Piece) -> str:
        return piece[-1] if isinstance(piece, str) else self.text[piece[1] - 1]

    def _start(self, piece: Piece) -> str:
        return piece[0] if isinstance(piece, str) else self.text[piece[0]]

    def _inside(self, node: Node, first: int, last: int, among: Sequence[Node] | None = None) -> Iterator[Piece]:
        """The stretch from `first` to `last` of a node, with its changed children put in."""
        at = first
        children = node.children if among is None else among
        for begin, end, pieces in sorted(self._work(node, children), key=lambda work: work[:2]):
            if begin < at and end <= at:
                continue
            begin = max(begin, at)
            if begin > last:
                break
            yield (at, begin)
            yield from pieces
            at = min(end, last)
        yield (at, last)

    def _work(self, node: Node, children: Sequence[Node]) -> Iterator[tuple[int, int, list[Piece]]]:
        if node.kind in LISTS:
            yield from self._list(node)
            gone = {each for each in node.members if self._vanishes(each)}
        elif node.kind in ("declaration", "field_declaration"):
            declarators = [each for each in node.children if each.field == "declarator"]
            gone = {each for each in declarators if each in self.dropped}
            yield from self._members(declarators)
        else:
            gone = set()
        if node.kind == "template_declaration" and (listed := node.child("parameters")) is not None:
            if listed.members and all(self._vanishes(each) for each in listed.members):
                yield (node.first, node.members[-1].first, [])
                gone.add(listed)
        for each in children:
            if each not in self.dirty or each in gone:
                continue
            if self._vanishes(each):
                yield (*self._extent(each), [";"] if self._is_body(each) else [])
            else:
                yield (each.first, each.last, self._emit(each))

    def _list(self, node: Node) -> Iterator[tuple[int, int, list[Piece]]]:
        members = node.members
        if members and node.kind == "template_argument_list":
            if all(self._vanishes(each) for each in members):
                yield (node.first, node.last, [])
                return
        yield from self._members(members)

    def _members(self, members: Sequence[Node]) -> Iterator[tuple[int, int, list[Piece]]]:
        """What goes of a list: each member with the comma after it, the last ones with the comma before them."""
        gone = [self._vanishes(each) for each in members]
        if not any(gone):
            return
        left = [number for number, is_gone in enumerate(gone) if not is_gone]
        final = left[-1] if left else -1
        for number, each in enumerate(members):
            if not gone[number]:
                continue
            if number < final:
                yield (each.first, members[number + 1].first, [])
        if final + 1 < len(members):
            begin = members[final].last if left else members[0].first
            yield (begin, members[-1].last, [])

    def _vanishes(self, node: Node) -> bool:
        """Whether nothing is left of a node: dropped, or all that it is about."""
        if node not in self.dirty:
            return False
        if node in self.dropped:
            return self._may_vanish(node)
        if node.kind in WITH_PARENT:
            inner = node.members[-1] if node.members else None
            return inner is not None and inner.kind != "declaration_list" and self._vanishes(inner)
        if node.kind in ("declaration", "field_declaration"):
            declarators = [each for each in node.children if each.field == "declarator"]
            return bool(declarators) and all(each in self.dropped for each in declarators)
        return False

    def _may_vanish(self, node: Node) -> bool:
        parent = node.parent
        if parent is None:
            return False
        if parent.kind in BLOCKS and node.field not in ("condition", "name", "value"):
            return True
        fits = (
            parent.kind in LISTS
            or parent.kind in WITH_PARENT
            or node.kind in OPTIONAL
            or self._is_body(node)
            or (parent.kind in ("declaration", "field_declaration") and node.field == "declarator")
            or (parent.kind == "return_statement")
            or (parent.kind == "for_statement" and node.field in ("condition", "update"))
        )
        if not fits:
            self.misfits.add(self.dropped[node])
        return fits

    def _is_body(self, node: Node) -> bool:
        parent = node.parent
        if parent is None or parent.kind not in BODIES or node.kind == "else_clause":
            return False
        return node.field in ("body", "consequence") or (parent.kind == "else_clause" and node.named)

    def _extent(self, node: Node) -> tuple[int, int]:
        """The characters that go with a node: its whole line, if that holds nothing else."""
        first, last = node.first, node.last
        parent = node.parent
        if node.kind.endswith("_specifier") and parent is not None and parent.kind in BLOCKS:
            last += self.text[last:].startswith(";")  # that of a struct is no part of it at the top
        if parent is None or parent.kind not in BLOCKS | WITH_PARENT:
            if parent is not None and node.kind in OPTIONAL:  # with the space behind it
                while last < len(self.text) and self.text[last] in " \t":
                    last += 1
            return first, last
        start = self.text.rfind("\n", 0, first) + 1
        if self.text[start:first].strip():
            return first, last
        if last > first and self.text[last - 1] == "\n":
            return start, last
        stop = self.text.find("\n", last)
        stop = len(self.text) if stop < 0 else stop + 1
        return (start, stop) if not self.text[last:stop].strip() else (first, last)

    def _emit(self, node: Node) -> list[Piece]:
        """A node that stays, or what is put in its place."""
        if node in self.put and node not in self.writing:
            return self._replaced(node)
        if node in self.dropped:  # it cannot go
            self.misfits.add(self.dropped[node])
        return list(self._inside(node, node.first, node.last))

    def _replaced(self, node: Node) -> list[Piece]:
        owner, by = self.put[node]
        if len(self.writing) > 20:
            self.misfits.add(owner)
            return [(node.first, node.last)]
        self.writing.append(node)
        out: list[Piece] = []
        for part in by:
            if isinstance(part, str):
                out.append(part)
            elif isinstance(part, tuple):
                out += self._run(part)
            elif self._vanishes(part):
                out.append(";" if part.kind.endswith("_statement") else "")
            else:
                out += self._emit(part)
        self.writing.pop()
        if self._is_body(node) and not "".join(map(self._shown, out)).strip():
            return [";"]
        if node.parent is not None and node.parent.kind in OPERANDS and not self._whole(by):
            if self._needs(node):
                return ["(", *out, ")"]
        return out

    def _run(self, nodes: tuple[Node, ...]) -> Iterator[Piece]:
        """Neighbours, with what stands between them."""
        if nodes:
            parent = nodes[0].parent
            assert parent is not None
            yield from self._inside(parent, nodes[0].first, nodes[-1].last, nodes)

    def _shown(self, piece: Piece) -> str:
        return piece if isinstance(piece, str) else self.text[slice(*piece)]

    def _whole(self, by: tuple[Part, ...]) -> bool:
        if len(by) != 1:
            return False
        if isinstance(by[0], str):
            return _WORD.match(by[0]) is not None or _bracketed(by[0])
        return isinstance(by[0], Node) and by[0].kind in WHOLE and by[0] not in self.put

    def _needs(self, node: Node) -> bool:
        """Whether the place of an expression asks for parentheses around what does not hold together."""
        parent = node.parent
        assert parent is not None
        if parent.kind in SAFE or node.kind.endswith(("_statement", "declaration", "_definition")):
            return False
        if parent.kind == "call_expression" and node.field == "arguments":
            return False
        return not (parent.kind == "for_statement" and node.field in ("initializer", "condition", "update", "body"))


def _bracketed(text: str) -> bool:
    """Whether the text is one pair of parentheses and what is in it."""
    if not text.startswith("("):
        return False
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return at == len(text) - 1
    return False
