"""CUDA: of the device's functions only what one statement needs, from its own function up to the kernel, in one step.

The statement, the control flow around it, and the declarations of the names in these; then the same for the calls that
lead there. Statement by statement that is a hundred builds, most of which lack a variable. One edit a statement, as
alternatives, the smallest rest first; and as many again that keep what writes to a variable without initialiser.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.native.native_tree import Node
from shrinkray_gpu.reduction.native.native_writer import BLOCKS
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import (
    NAMES,
    Source,
    declarator_name,
    function_of,
    is_inside,
    sources,
    statement_of,
    statements,
)

MOST = 120
"""Edits: a try each, where none holds."""
_DEVICE = re.compile(r"\b__(?:device|global)__\b")
_ACCESSES = frozenset({"call_expression", "subscript_expression", "pointer_expression", "gnu_asm_expression"})
_BRANCHES = ("body", "consequence", "alternative")


def find(program: Program) -> Iterator[Edit]:
    for source in sources(program):
        found: dict[frozenset[Node], Edit] = {}
        functions = _functions(source)
        for function, body in functions.items():
            for target in _statements(body):
                if not any(each.kind in _ACCESSES for each in target.walk()):
                    continue
                if target.kind not in ("expression_statement", "declaration", "return_statement"):
                    continue
                for writes in (False, True):
                    gone = frozenset(_gone(source, functions, function, target, writes=writes))
                    if gone and gone not in found:
                        what = f"slice for line {source.line(target)}"
                        found[gone] = replace(source.drop(what, gone), rivals=source.literal)
        yield from sorted(found.values(), key=lambda edit: -edit.weight)[:MOST]


def _functions(source: Source) -> dict[Node, Node]:
    """Those of the device, with their bodies."""
    found = {}
    for node in source.tree.nodes("function_definition"):
        body = node.child("body")
        if body is not None and _DEVICE.search(source.text[node.first : body.first]):
            found[node] = body
    return found


def _statements(block: Node) -> list[Node]:
    """All within it, whatever their depth."""
    return [each for each in block.walk() if each.named and each.parent is not None and each.parent.kind in BLOCKS]


def _gone(source: Source, functions: dict[Node, Node], function: Node, target: Node, *, writes: bool) -> Iterator[Node]:
    """What the statement does not need, in its function and in those that call it."""
    targets: dict[Node, set[Node]] = defaultdict(set, {function: {target}})
    todo = [function]
    while todo:
        here = todo.pop()
        yield from _dropped(functions[here], _needed(source, functions[here], here, targets[here], writes=writes))
        declarator = function_of(here)
        for use in source.uses(declarator_name(declarator)):
            caller = next((each for each, body in functions.items() if is_inside(use, body)), None)
            call = statement_of(use)
            if caller is None or call is None or caller is here:
                continue
            if caller not in targets:
                todo.append(caller)
            targets[caller].add(call)


def _needed(source: Source, body: Node, function: Node, targets: set[Node], *, writes: bool) -> set[Node]:
    every = _statements(body)
    needed: set[Node] = set()
    names: set[str] = set()
    bare: set[str] = set()

    def take(node: Node) -> None:
        needed.add(node)
        names.update(_names(source, node))
        for up in node.above():
            if up is body:
                break
            for part in up.children:
                if part.field not in _BRANCHES and up.kind not in BLOCKS:
                    names.update(_names(source, part))

    returns = "void" not in source.text[function.first : body.first]
    for each in every:
        if each in targets or (returns and each.kind == "return_statement") or each.kind.startswith("using"):
            take(each)
    while True:
        before = len(needed)
        for each in every:
            if each in needed:
                continue
            made = source.declares(each)
            if made & names:
                take(each)
                if "=" not in source.of(each):
                    bare |= made
            elif writes and each.kind == "expression_statement" and _given_away(source, each) & bare:
                take(each)
        if len(needed) == before:
            return needed


def _names(source: Source, node: Node) -> set[str]:
    return {source.of(each) for each in node.walk() if each.kind in NAMES and each.kind != "field_identifier"}


def _given_away(source: Source, statement: Node) -> set[str]:
    """Names that a statement may write to: assigned to, counted up, or given to a function."""
    places = [each for each in statement.walk() if each.kind in ("update_expression", "argument_list")]
    places += [each.children[0] for each in statement.walk() if each.kind == "assignment_expression"]
    return {name for place in places for name in _names(source, place)}


def _dropped(node: Node, needed: set[Node]) -> Iterator[Node]:
    """The outermost nodes without anything that is needed."""
    parts: Iterable[Node] = statements(node) if node.kind in BLOCKS else node.children
    for part in parts:
        if part in needed:
            continue
        if node.kind not in BLOCKS and part.field not in _BRANCHES and part.kind != "compound_statement":
            if node.kind != "else_clause" or not part.named:
                continue
        if any(is_inside(each, part) for each in needed):
            yield from _dropped(part, needed)
        elif part.kind == "compound_statement" and node.kind != "else_clause" and node.kind not in BLOCKS:
            yield from _dropped(part, needed)
        else:
            yield part
