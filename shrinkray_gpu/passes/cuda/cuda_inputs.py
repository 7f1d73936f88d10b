"""CUDA: what a kernel is given goes, with all that is read and written through it where it is a pointer.

What was read is nothing, or of an index the place that it was read at; what was written is not. With the argument goes
what the host did to fill it, once `cuda_unread` has its turn: an allocation, a copy, a vector and the loop that fills
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from shrinkray_gpu.passes.cuda.cuda_parameters import PARAMETER_KINDS
from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.native.native_change import Drop, NativeChange, Part, Put
from shrinkray_gpu.reduction.native.native_tree import Node
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import (
    Source,
    arguments_of,
    declarator_name,
    enclosing,
    function_of,
    is_a_file,
    is_overloaded,
    sources,
)

_SUMS = ("binary_expression", "parenthesized_expression", "cast_expression")
_CASTS = ("reinterpret_cast", "static_cast", "const_cast")
_Offer: TypeAlias = "Callable[[Node], Part | None]"
_LOADS = ("__ldg", "__ldcg", "__ldca", "__ldcs")


def find(program: Program) -> Iterator[Edit]:
    if not is_a_file(program):
        return
    for source in sources(program):
        for node in source.tree.nodes("function_definition"):
            declarator, body = function_of(node), node.child("body")
            name = declarator_name(declarator)
            listed = declarator.child("parameters") if declarator is not None else None
            if name is None or listed is None or body is None or is_overloaded(source, source.of(name)):
                continue
            if "__global__" not in source.text[node.first : name.first]:
                continue
            lists = [place for use in source.uses(name) if (place := arguments_of(use)) is not None]
            for index, parameter in enumerate(listed.members):
                edits = (_without(source, node, index, parameter, lists, by=by) for by in (_zero, _place))
                yield from (each for each in edits if each is not None)


def _without(
    source: Source, node: Node, index: int, parameter: Node, lists: Sequence[Node], *, by: _Offer
) -> Edit | None:
    declared = parameter.child("declarator")
    own = declarator_name(declared)
    if declared is None or own is None or declared.kind not in ("pointer_declarator", "identifier"):
        return None
    if parameter.kind not in PARAMETER_KINDS or any(index >= len(each.members) for each in lists):
        return None
    uses = source.uses(own, node)
    changes: list[NativeChange] = []
    for use in uses:
        access = _access(source, use) if declared.kind == "pointer_declarator" else use
        change = None if access is None else _nothing(access, by)
        if change is None:
            return None
        changes.append(change)
    if not uses:
        return None
    gone = [parameter, *(each.members[index] for each in lists)]
    what = f"{'nothing' if by is _zero else 'places'} for {source.of(own)}"
    return source.edit(what, *changes, *map(Drop, gone), weight=10 + source.weight(gone))


def _access(source: Source, use: Node) -> Node | None:
    """`p[i]`, `*(p + i)`, `*(const float4*)(p + i)` or `__ldg(p + i)` around a mention of p."""
    node, up = use, use.parent
    while up is not None:
        if up.kind == "subscript_expression" and up.child("argument") is node:
            return up
        if up.kind == "pointer_expression":
            return up if source.of(up).startswith("*") else None
        if up.kind == "argument_list" and up.parent is not None and up.members == [node]:
            function = up.parent.child("function")
            called = source.of(function) if function is not None else ""
            if called in _LOADS:
                return up.parent
            if not called.startswith(_CASTS):
                return None
            node, up = up.parent, up.parent.parent
            continue
        if up.kind not in _SUMS:
            return None
        node, up = up, up.parent
    return None


def _nothing(access: Node, by: _Offer) -> NativeChange | None:
    """A value for what is read; no statement for what is written."""
    while access.parent is not None and access.parent.kind in ("field_expression", "parenthesized_expression"):
        access = access.parent
    up = access.parent
    if up is None or up.kind == "pointer_expression":  # its address
        return None
    if up.kind == "update_expression" or (up.kind == "assignment_expression" and up.child("left") is access):
        return Drop(up.parent) if up.parent is not None and up.parent.kind == "expression_statement" else None
    value = by(access)
    return None if value is None else Put(access, (value,))


def _zero(access: Node) -> Part:
    """A one behind `<`, so that a loop still runs once, and where nothing may be divided by it."""
    up = access.parent
    if up is not None and up.kind == "binary_expression" and up.children[1].kind in ("<", "<=", "/", "%"):
        return "1" if up.child("right") is access else "0"
    of_any_type = up is not None and up.kind in ("init_declarator", "assignment_expression")
    return "{}" if of_any_type else "0"


def _place(access: Node) -> Part | None:
    """`i` for `p[i]`, where that is the index of an index: what it leads to still comes from memory. Of a last index it
    does not: it may leave memory by being another number."""
    indices, outer = access.child("indices"), enclosing(access, "subscript_argument_list")
    last = outer is None or enclosing(outer, "subscript_argument_list") is None
    if last or indices is None or access.kind != "subscript_expression":
        return None
    return indices.members[0]
