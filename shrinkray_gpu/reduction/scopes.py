"""The scope of each node and the context of each name, as libcst knows them, without its walks over the tree.

`MetadataWrapper.resolve` walks the tree three times for the scopes, and each walk makes every node anew in case a
visitor has changed it: 1.3 s for 4,000 lines, a third of all that the tool itself did with such a program. Here
libcst's own visitor is led over the children that the layout knows, once, past all that holds no name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, cast

import libcst as cst
from libcst.metadata import ExpressionContext, Scope
from libcst.metadata.scope_provider import ScopeProvider, ScopeVisitor

from shrinkray_gpu.reduction.positions import Layout

_NAMELESS = ("libcst._nodes.whitespace", "libcst._nodes.op")
_WITHIN_TARGETS = (cst.Tuple, cst.List, cst.Element, cst.StarredElement)
_TARGETS = {
    cst.AssignTarget: "target",
    cst.AnnAssign: "target",
    cst.AugAssign: "target",
    cst.NamedExpr: "target",
    cst.CompFor: "target",
    cst.For: "target",
    cst.AsName: "name",
    cst.FunctionDef: "name",
    cst.ClassDef: "name",
    cst.Param: "name",
}
"""Where a name is bound: the node, and the part of it that must be the name, or hold it in a tuple or list."""
_PLAIN = frozenset(
    kind
    for kind in (cst.Name, cst.Attribute, cst.Arg, cst.Integer, cst.Float, cst.SimpleString, cst.BinaryOperation,
                 cst.UnaryOperation, cst.Comparison, cst.ComparisonTarget, cst.Index, cst.Slice, cst.SubscriptElement,
                 cst.Expr, cst.SimpleStatementLine, cst.AssignTarget, cst.Element, cst.Tuple, cst.List)
    if getattr(ScopeVisitor, f"leave_{kind.__name__}") is getattr(cst.CSTVisitor, f"leave_{kind.__name__}")
)  # fmt: skip
"""Kinds of which the visitor notes the scope when it leaves them, and nothing else."""


def context_of(layout: Layout, name: cst.Name) -> ExpressionContext | None:
    """Whether a Name is read, bound or deleted. None for the names of attributes, for what stands in no tree of ours,
    and for type parameters, of which libcst tells none either."""
    node: cst.CSTNode = name
    parent = layout.parents.get(node)
    if parent is None or (isinstance(parent, cst.Attribute) and parent.attr is name):
        return None
    while isinstance(parent, _WITHIN_TARGETS):
        node, parent = parent, layout.parents.get(parent)
    part = _TARGETS.get(type(parent))  # type: ignore[arg-type]
    if part is not None and getattr(parent, part) is node:
        return ExpressionContext.STORE
    if isinstance(parent, cst.Del):
        return ExpressionContext.DEL
    above = parent and layout.parents.get(parent)
    return None if isinstance(above, cst.TypeParam) else ExpressionContext.LOAD


def scopes_of(module: cst.Module, layout: Layout) -> Mapping[cst.CSTNode, Scope]:
    """libcst's scope of each node; white space, punctuation and operators have none."""
    visitor = _ScopeWalker(layout)
    visitor.on_visit(module)
    visitor.on_leave(module)
    visitor.infer_accesses()
    return visitor.found


class _ScopeWalker(ScopeVisitor):
    """libcst's visitor, which takes this for its provider too: what it asks for and what it finds out."""

    def __init__(self, layout: Layout) -> None:
        super().__init__(cast("ScopeProvider", self))
        self.found: dict[cst.CSTNode, Scope] = {}
        self._layout = layout

    def set_metadata(self, node: cst.CSTNode, value: Scope) -> None:
        self.found[node] = value

    def get_metadata(self, key: object, node: cst.CSTNode, default: Any = None) -> Any:
        """The context of a Name: nothing else is asked."""
        return context_of(self._layout, cst.ensure_type(node, cst.Name))

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Whether libcst shall visit the children: not those that were visited here. What it parses from a string (an
        annotation) is no part of our tree, and left to it."""
        visit = _method(type(node))
        if visit is not None and visit(self, node) is False:
            return False
        children = self._layout.children.get(node)
        if children is None:
            return True
        for child in children:
            if not _nameless(type(child)):
                self.on_visit(child)
                self.on_leave(child)
        return False

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if type(original_node) in _PLAIN:
            self.found[original_node] = self.scope
        else:
            super().on_leave(original_node)


@cache
def _method(kind: type[cst.CSTNode]) -> Callable[[ScopeVisitor, cst.CSTNode], bool | None] | None:
    """What the visitor does with such a node; None where it only goes on to what is below."""
    name = f"visit_{kind.__name__}"
    own = getattr(ScopeVisitor, name, None)
    return None if own is getattr(cst.CSTVisitor, name, None) else own


@cache
def _nameless(kind: type[cst.CSTNode]) -> bool:
    return kind.__module__ in _NAMELESS or kind in (cst.LeftParen, cst.RightParen)
