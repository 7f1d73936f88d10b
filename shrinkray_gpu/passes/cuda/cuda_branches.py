"""CUDA: branches, loops and bare blocks give way to what is in them.

`if` becomes one of its arms, a loop its body run once, a block its statements, a namespace its definitions. An arm
keeps its braces, and with them its names, until it is seen to need none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.native.native_change import Put
from shrinkray_gpu.reduction.native.native_tree import Node
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import Source, depth, sources, statements

_JUMPS = frozenset({"break_statement", "continue_statement"})
_LOOPS = frozenset({"for_statement", "while_statement", "do_statement", "for_range_loop"})


def find(program: Program) -> Iterator[Edit]:
    for source in sources(program):
        for node in source.tree.root.walk():
            level = depth(node)
            where = f"at line {source.line(node)}"
            if node.kind == "if_statement":
                for taken in _arms(node):
                    yield source.put(f"resolve if {where}", node, taken, level=level)
            elif node.kind in _LOOPS:
                yield from _once(source, node, level)
            elif node.kind == "compound_statement":
                yield from _flattened(source, node, level)
            elif node.kind in ("namespace_definition", "linkage_specification"):
                yield from _opened(source, node, level)
            elif node.kind == "conditional_expression":
                for name in ("consequence", "alternative"):
                    if (arm := node.child(name)) is not None:
                        yield source.put(f"resolve ?: {where}", node, arm, level=level)


def _arms(node: Node) -> list[Node]:
    arms = [node.child("consequence")]
    other = node.child("alternative")
    if other is not None:
        arms.append(next(iter(other.members), None) if other.kind == "else_clause" else other)
    return [arm for arm in arms if arm is not None]


def _once(source: Source, node: Node, level: int) -> Iterator[Edit]:
    body = node.child("body")
    if body is None or any(each.kind in _JUMPS for each in body.walk()):
        return
    first = node.child("initializer")
    what = f"run loop once at line {source.line(node)}"
    if first is not None:
        end = "" if source.of(first).endswith(";") else ";"
        yield source.put(what, node, "{ ", first, f"{end}\n", body, "\n}", level=level)
    yield source.put(what, node, body, level=level)


def _flattened(source: Source, node: Node, level: int) -> Iterator[Edit]:
    """A block within a block."""
    parent = node.parent
    if parent is None or parent.kind != "compound_statement":
        return
    inside = tuple(each for each in node.children if each.kind not in ("{", "}"))
    names = set[str]().union(*map(source.declares, inside))
    if not any(names & source.declares(each) for each in statements(parent) if each is not node):
        yield source.put(f"open block at line {source.line(node)}", node, inside, level=level)


def _opened(source: Source, node: Node, level: int) -> Iterator[Edit]:
    body = next((each for each in node.children if each.kind == "declaration_list"), None)
    if body is None:
        return
    inside = tuple(each for each in body.children if each.kind not in ("{", "}"))
    changes = [Put(node, (inside,))]
    name = node.child("name")
    if name is not None:
        if not re.fullmatch(r"\w+", source.of(name)):
            return
        for place in source.uses(name):
            up = place.parent
            if up is not None and up.kind == "qualified_identifier" and place.field == "scope":
                changes += [Put(up, (inner,)) for inner in [up.child("name")] if inner is not None]
    yield source.edit(f"open namespace at line {source.line(node)}", *changes, level=level, weight=6)
