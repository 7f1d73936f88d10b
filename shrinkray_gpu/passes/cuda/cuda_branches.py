"""CUDA: branches, loops and bare blocks give way to what is in them.

`if` becomes one of its arms, a loop its body run once, a block its statements, a namespace its definitions. An arm
keeps its braces, and with them its names, until it is seen to need none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.native.native_change import Drop, Put
from shrinkray_gpu.reduction.native.native_tree import Node
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import Source, declarator_name, depth, enclosing, is_inside, sources

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
    if node.kind == "for_range_loop":
        yield from _for_one(source, node, body, level)
    if first is not None:
        end = "" if source.of(first).endswith(";") else ";"
        yield source.put(what, node, "{ ", first, f"{end}\n", body, "\n}", level=level)
    yield source.put(what, node, body, level=level)


def _for_one(source: Source, node: Node, body: Node, level: int) -> Iterator[Edit]:
    """A loop over a container for its first element, or its last: by their values, where they are written in a list."""
    declarator, right, kind = node.child("declarator"), node.child("right"), node.child("type")
    name = declarator_name(declarator)
    if declarator is None or name is None or right is None or kind is None:
        return
    what = f"run loop once at line {source.line(node)}"
    if any(each.kind == "structured_binding_declarator" for each in declarator.walk()) and right.kind == "identifier":
        start = source.text[node.children[2].first : declarator.last]
        yield source.put(what, node, f"{{ {start} = ", right, "[0];\n", body, "\n}", level=level)
        return
    own = source.text[node.children[2].first : kind.last]
    places = [] if right.kind == "initializer_list" else source.uses(right, enclosing(node, "function_definition"))
    around = ((use, enclosing(use, "init_declarator")) for use in places)
    initial = next((each for use, each in around if each is not None and declarator_name(each) is use), None)
    values = right if right.kind == "initializer_list" else initial.child("value") if initial is not None else None
    if values is not None and values.kind == "initializer_list":
        drops = [Drop(initial)] if initial is not None and len(places) == 1 else []
        for value in dict.fromkeys([*values.members[:1], *values.members[-1:]]):
            between = "" if value.kind == "initializer_list" else " = "
            put = Put(node, (f"{{ {own} {source.of(name)}{between}", value, ";\n", body, "\n}"))
            yield source.edit(what, put, *drops, level=level, weight=source.weight([values]))
    elif right.kind in ("identifier", "field_expression"):
        start = source.text[node.children[2].first : declarator.last]
        yield source.put(what, node, f"{{ {start} = ", right, "[0];\n", body, "\n}", level=level)


def _flattened(source: Source, node: Node, level: int) -> Iterator[Edit]:
    """A block within a block."""
    parent = node.parent
    if parent is None or parent.kind != "compound_statement":
        return
    inside = tuple(each for each in node.children if each.kind not in ("{", "}"))
    names = set[str]().union(*map(source.declares, inside))
    uses = (use for name in names for use in source.names[name] if use.kind == "identifier" and is_inside(use, parent))
    if not any(_means(source, use, parent, node) for use in uses if not is_inside(use, node)):
        yield source.put(f"open block at line {source.line(node)}", node, inside, level=level)


def _means(source: Source, use: Node, block: Node, opened: Node) -> bool:
    """Whether a name means something in a block, to which one within it is opened: a variable of the block or from
    around it, or of a block before that may be opened as well."""
    for up in takewhile(lambda each: each is not block, use.above()):
        block_like = up.kind == "compound_statement"
        own = [each for each in up.children if block_like or each.field == "initializer"]
        if any(source.of(use) in source.declares(each) for each in own):
            return block_like and up.parent is block and up.first < opened.first
        if up.kind in ("for_range_loop", "lambda_expression") and source.of(use) in _bound_by(source, up):
            return False
    return True


def _bound_by(source: Source, node: Node) -> set[str]:
    """The names of a loop's element, or of a function's parameters."""
    places = [node, *(each for each in node.walk() if each.kind == "parameter_declaration")]
    names = (declarator_name(each.child("declarator")) for each in places)
    return {source.of(each) for each in names if each is not None}


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
            if place.kind == "preproc_arg":
                said = re.sub(rf"(?:::)?\b{source.of(name)}::", "", source.of(place))
                changes.append(Put(place, (said,)))
            elif up is not None and up.kind == "qualified_identifier" and place.field == "scope":
                changes += [Put(up, (inner,)) for inner in [up.child("name")] if inner is not None]
    yield source.edit(f"open namespace at line {source.line(node)}", *changes, level=level, weight=6)
