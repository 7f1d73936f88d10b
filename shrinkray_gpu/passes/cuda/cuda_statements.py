"""CUDA: every statement, from the outermost block in; whole blocks first.

A declaration that is read elsewhere goes with the statements that read it: alone it would leave a compiler error.
"""

from __future__ import annotations

from collections.abc import Iterator

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.native.native_tree import Node
from shrinkray_gpu.reduction.native.native_writer import BLOCKS, BODIES
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import (
    Source,
    declared_names,
    depth,
    is_inside,
    sources,
    statement_of,
    statements,
    unwrap_definition,
)


def find(program: Program) -> Iterator[Edit]:
    for source in sources(program):
        for block in source.tree.root.walk():
            if block.kind in BLOCKS and block.kind != "translation_unit":
                yield from _of_block(source, block)
            elif block.kind in BODIES:
                body = block.child("body") or block.child("consequence")
                if body is not None and body.kind not in ("compound_statement", ";"):
                    yield source.drop(_what(source, body), [body], level=depth(body))
            elif block.kind == "else_clause":
                yield source.drop(f"remove else at line {source.line(block)}", [block], level=depth(block))


def _of_block(source: Source, block: Node) -> Iterator[Edit]:
    inside = statements(block)
    level = depth(block)
    if len(inside) > 1:
        yield source.drop(
            f"empty the block of {len(inside)} statements at line {source.line(inside[0])}", inside, level
        )
    scope = _scope(block)
    for node in inside:
        if node.kind == ";":
            continue
        users: list[Node] = []
        for place in (use for name in declared_names(node) for use in source.uses(name, scope)):
            user = statement_of(place)
            if user is not None and user not in users and not is_inside(place, node) and not is_inside(node, user):
                users.append(user)
        yield source.drop(_what(source, node), [node, *users], level=level + 1)


def _scope(block: Node) -> Node:
    """Where the names of a block are seen: within it; those of a class or a conditional, beyond."""
    while block.kind != "compound_statement" and block.parent is not None:
        block = block.parent
    return block


def _what(source: Source, node: Node) -> str:
    return f"remove {unwrap_definition(node).kind} at line {source.line(node)}"
