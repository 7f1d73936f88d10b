"""CUDA: part of an expression for the whole, a zero for it, and what a declaration can do without.

Initialisers, qualifiers, launch bounds, elements of a list. Whatever an assignment computes, its target stays.
"""

from __future__ import annotations

from collections.abc import Iterator

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.native.native_tree import Node
from shrinkray_gpu.reduction.native.native_writer import OPTIONAL
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import Source, depth, sources

_PARTS = {
    "binary_expression": ("left", "right"),
    "unary_expression": ("argument",),
    "pointer_expression": ("argument",),
    "cast_expression": ("value",),
    "assignment_expression": ("right",),
    "comma_expression": ("left", "right"),
    "field_expression": ("argument",),
    "subscript_expression": ("argument",),
}
_ZEROED = frozenset({*_PARTS, "call_expression", "conditional_expression", "identifier", "qualified_identifier"})
_VALUES = frozenset(
    {
        "argument_list",
        "init_declarator",
        "assignment_expression",
        "binary_expression",
        "subscript_argument_list",
        "return_statement",
        "condition_clause",
        "kernel_call_syntax",
        "initializer_list",
        "parenthesized_expression",
    }
)
"""Places where a zero may stand."""
_KEPT = frozenset({"__global__", "__device__", "__shared__", "__constant__", "extern"})


def find(program: Program) -> Iterator[Edit]:
    """What takes most goes first: of a long expression most parts go with others."""
    yield from sorted(_every(program), key=lambda edit: -edit.weight)


def _every(program: Program) -> Iterator[Edit]:
    for source in sources(program):
        for node in source.tree.root.walk():
            level = depth(node)
            where = f"at line {source.line(node)}"
            for name in _PARTS.get(node.kind, ()):
                if (part := node.child(name)) is not None and not _target(node):
                    yield source.put(f"{name} of {node.kind} {where}", node, part, level=level)
            if node.kind == "call_expression" and (given := node.child("arguments")) is not None:
                if not any(each.kind == "kernel_call_syntax" for each in node.children):
                    for part in given.members:
                        yield source.put(f"argument of call {where}", node, part, level=level)
            needed = node.parent is not None and node.parent.kind in ("do_statement", "while_statement", "if_statement")
            if node.kind == "parenthesized_expression" and len(node.members) == 1 and not needed:
                yield source.put(f"open parentheses {where}", node, node.members[0], level=level)
            if node.kind in _ZEROED and _stands_for_a_value(source, node):
                yield source.put(f"zero for {node.kind} {where}", node, "0", level=level)
            if node.kind == "init_declarator" and (inner := node.child("declarator")) is not None:
                yield source.put(f"no initialiser {where}", node, inner, level=level)
            elif node.kind in OPTIONAL and source.of(node) not in _KEPT and node.kind != "comment":
                yield source.drop(f"remove {node.kind} {where}", [node], level=level)
            elif node.parent is not None and node.parent.kind == "initializer_list" and node.named:
                yield source.drop(f"remove element {where}", [node], level=level)
            elif node.parent is not None and node.parent.kind == "return_statement" and node.named:
                yield source.drop(f"return nothing {where}", [node], level=level)
            elif node.kind == "template_argument_list" and len(node.members) > 0 and node.parent is not None:
                if node.parent.kind == "template_function":
                    yield source.drop(f"remove template arguments {where}", node.members, level=level)


def _target(node: Node) -> bool:
    parent = node.parent
    return parent is not None and parent.kind == "assignment_expression" and node.field == "left"


def _stands_for_a_value(source: Source, node: Node) -> bool:
    parent = node.parent
    if parent is None or parent.kind not in _VALUES or _target(node) or node.field in ("declarator", "function"):
        return False
    return not (parent.kind == "binary_expression" and source.of(parent).startswith("#"))
