"""Text of code that moves: names exchanged for other names or for whole expressions, parentheses where they are needed.

Moved code is plain text in an Edit, so changes that other Edits make inside it are moot. Therefore an Edit of this
folder replaces whole *roots* (a simple statement, or the expression in a compound statement's header): two Edits that
touch the same root exclude each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import libcst as cst

from shrinkray_gpu.reduction.edit import Change, Edit, Insert, Remove, Replace
from shrinkray_gpu.reduction.rendering.slots import level, slot
from shrinkray_gpu.source.names_read import Names

Swaps = Mapping[cst.CSTNode, cst.CSTNode]


class _Exchange(cst.CSTTransformer):
    def __init__(self, swaps: Swaps, names: Names) -> None:
        self.swaps, self.names = swaps, names

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
        if (new := self.swaps.get(original_node)) is None:
            return super().on_leave(original_node, updated_node)  # type: ignore[return-value]
        if isinstance(new, cst.BaseExpression):
            assert isinstance(original_node, cst.BaseExpression)
            return fit_parentheses(new, original_node, self.names)
        return new


def fit_parentheses(new: cst.BaseExpression, was: cst.BaseExpression, names: Names) -> cst.BaseExpression:
    """The expression with the parentheses that its place asks for; it keeps those that stood there already."""
    if was.lpar:
        return new.with_changes(lpar=[*was.lpar, *new.lpar], rpar=[*new.rpar, *was.rpar])
    if level(new) >= slot(was, names.parents).level:
        return new
    return new.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def exchange(node: cst.CSTNode, swaps: Swaps, names: Names) -> cst.CSTNode:
    """A copy of the tree below `node` with some of its nodes exchanged. The node's own exchange is not fitted."""
    if node in swaps:
        return swaps[node]
    new = node.visit(_Exchange(swaps, names))
    assert isinstance(new, cst.CSTNode)
    return new


def node_text(node: cst.CSTNode, names: Names) -> str:
    """The node as text from column 0, without the comments before it."""
    if isinstance(node, cst.SimpleStatementLine | cst.BaseCompoundStatement):
        node = node.with_changes(leading_lines=())
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            node = node.with_changes(lines_after_decorators=())
    return names.module.code_for_node(node).strip("\n")


def lines_of(body: cst.BaseSuite | cst.BaseExpression) -> list[cst.BaseStatement]:
    """The statements of a block, also of one on the line of its header."""
    if isinstance(body, cst.IndentedBlock):
        return list(body.body)
    assert isinstance(body, cst.SimpleStatementSuite)
    return [cst.SimpleStatementLine([each.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)]) for each in body.body]


def root_of(node: cst.CSTNode, names: Names) -> cst.CSTNode:
    """The simple statement that the expression is part of, else its outermost expression (in a header, a decorator)."""
    for above in names.around(node):
        if isinstance(above, cst.BaseSmallStatement):
            return above
        if isinstance(above, cst.BaseCompoundStatement):
            break
        if isinstance(above, cst.BaseExpression):
            node = above
    return node


@dataclass
class Rewrite:
    """One Edit in the making: expressions exchanged, statements put before others, definitions dropped."""

    names: Names
    what: str = ""
    swaps: dict[cst.CSTNode, cst.CSTNode] = field(default_factory=dict)
    before: dict[cst.CSTNode, list[str]] = field(default_factory=dict)
    instead: dict[cst.CSTNode, str] = field(default_factory=dict)
    """Roots whose new text is known; an empty text drops the statement."""
    dropped: list[cst.CSTNode] = field(default_factory=list)
    copied: list[cst.CSTNode] = field(default_factory=list)
    """What the new text was made from; changes that other Edits make there would be lost."""

    introduced: set[str] = field(default_factory=set)
    """Names that the new code binds where they were not bound before."""
    long_lived: set[str] = field(default_factory=set)
    """Those of them that are read later than in the lines that bind them."""

    def fresh(self, name: str) -> str:
        """A name like this one that no part of the program uses yet."""
        number = 2
        while f"{name}_{number}" in self.names.identifiers | self.introduced:
            number += 1
        self.introduced.add(f"{name}_{number}")
        return f"{name}_{number}"

    @cached_property
    def replaced_roots(self) -> list[cst.CSTNode]:
        """The roots that get another text."""
        return list(dict.fromkeys([*self.instead, *(root_of(node, self.names) for node in self.swaps)]))

    @property
    def touched_nodes(self) -> set[cst.CSTNode]:
        """What the Edit replaces or drops."""
        return {*self.replaced_roots, *self.dropped}

    @cached_property
    def in_several_places(self) -> bool:
        """Whether half of the Edit would leave a broken program."""
        return len(self.touched_nodes) > 1

    @cached_property
    def copied_calls(self) -> list[cst.CSTNode]:
        return [node for body in self.copied for node in self.names.walk(body) if isinstance(node, cst.Call)]

    @property
    def clashes(self) -> bool:
        """Whether two of its parts are in each other's way."""
        if any(root_of(node, self.names) in self.instead for node in self.swaps):
            return True
        return any_nested(self.swaps, self.names) or any_nested(self.replaced_roots, self.names)

    def edit(self) -> Edit:
        roots: dict[cst.CSTNode, dict[cst.CSTNode, cst.CSTNode]] = {root: {} for root in self.instead}
        for node, new in self.swaps.items():
            roots.setdefault(root_of(node, self.names), {})[node] = new
        changes: list[Change] = []
        before = dict(self.before)
        gone = sum(tokens(self.names.module.code_for_node(node)) for node in self.dropped)
        gone -= sum(tokens(text) for texts in before.values() for text in texts)
        for root, swaps in roots.items():
            text = self.instead[root] if root in self.instead else self._text(root, swaps)
            gone += tokens(self.names.module.code_for_node(root)) - tokens(text)
            small = isinstance(root, cst.BaseSmallStatement)
            if texts := before.pop(self.names.parents[root], []) if small else []:
                changes.append(Replace(root, ("\n".join(filter(None, [*texts, text])),)))
            else:
                changes.append(Replace(root, (text,)) if text else Remove(self.line_of(root)))
        for statement, texts in before.items():
            changes.append(Insert(statement, tuple((text,) for text in texts)))
        changes.extend(Remove(node) for node in self.dropped)
        return Edit(self.what, tuple(changes), weight=gone)

    def _text(self, root: cst.CSTNode, swaps: Swaps) -> str:
        new = exchange(root, swaps, self.names)
        if root in swaps:
            assert isinstance(new, cst.BaseExpression) and isinstance(root, cst.BaseExpression)
            new = fit_parentheses(new, root, self.names)
        if isinstance(new, cst.BaseSmallStatement):
            new = new.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
        return node_text(new, self.names)

    def line_of(self, root: cst.CSTNode) -> cst.CSTNode:
        """The whole line, if the simple statement is alone on it."""
        return self.names.own_line(root) or root


def any_nested(nodes: Iterable[cst.CSTNode], names: Names) -> bool:
    """Whether one of the nodes lies inside another."""
    all_of_them = set(nodes)
    return any(above in all_of_them for node in all_of_them for above in names.around(node))


def tokens(text: str) -> int:
    """About how many tokens; only to weigh Edits against each other."""
    return len(re.findall(r"[\w.]+|[^\w\s.]", text))
