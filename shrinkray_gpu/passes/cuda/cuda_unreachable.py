"""CUDA: definitions that nothing refers to, all at once; and each include.

Roots are what other text names: the Python script (`functions=[...]`, a kernel's name), another literal, the binding. A
kernel that only a launch in dead host code names goes with that code.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

import libcst as cst

from shrinkray_gpu.reduction.edit import Change, Edit, Remove, Within
from shrinkray_gpu.reduction.native.native_change import Drop
from shrinkray_gpu.reduction.native.native_tree import Node
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import (
    Source,
    declared_names,
    is_inside,
    outside_text,
    sources,
    statements,
    unwrap_definition,
)
from shrinkray_gpu.source.tree import every

_WORD = re.compile(r"[A-Za-z_]\w*")
_KERNEL = re.compile(r"\b__global__\b")


def find(program: Program) -> Iterator[Edit]:
    everything = sources(program)
    yield from _never_called(program, everything)
    outside = set(_WORD.findall(" ".join(outside_text(program))))
    for source in everything:
        named = set(outside)
        for other in everything:
            if other is not source:
                named.update(other.names)
        items = list(items_of(source.tree.root))
        names = {item: {source.of(name) for name in declared_names(source, item)} for item in items}
        yield from _unreachable(source, items, names, named)
        yield from _unreachable(source, items, names, named | _kernels(source, items, names))
        for item in items:
            if not names[item]:
                yield source.drop(f"remove {unwrap_definition(item).kind} at line {source.line(item)}", [item], level=1)


def _never_called(program: Program, everything: list[Source]) -> Iterator[Edit]:
    """What the script binds (`functions=["forward", "shapes"]`) and does not call, declarations included."""
    said = Counter(_WORD.findall(" ".join(outside_text(program))))
    bound: dict[str, list[cst.Element]] = defaultdict(list)
    for element in every(program, cst.Element):
        if isinstance(element.value, cst.SimpleString):
            bound[str(element.value.evaluated_value)].append(element)
    changes: list[Change] = []
    for name, elements in bound.items():
        items = [
            Within(source.literal, Drop(item))
            for source in everything
            for item in items_of(source.tree.root)
            if name in {source.of(each) for each in declared_names(source, item)}
        ]
        if items and said[name] == len(elements):
            changes += [*items, *map(Remove, elements)]
    if changes:
        yield Edit("remove all that is never called", tuple(changes), weight=3 * len(changes))


def items_of(block: Node) -> Iterator[Node]:
    """Definitions at the top, and in namespaces and `extern "C"`."""
    for node in statements(block):
        body = next((each for each in node.children if each.kind == "declaration_list"), None)
        if node.kind in ("namespace_definition", "linkage_specification") and body is not None:
            yield from items_of(body)
        else:
            yield node


def _kernels(source: Source, items: list[Node], names: dict[Node, set[str]]) -> set[str]:
    return {name for item in items if _KERNEL.search(source.of(item)) for name in names[item]}


def _unreachable(source: Source, items: list[Node], names: dict[Node, set[str]], named: set[str]) -> Iterator[Edit]:
    mentions: dict[Node, set[str]] = {item: set() for item in items}
    for word, places in source.names.items():
        for place in places:
            for item in items:
                if is_inside(place, item):
                    mentions[item].add(word)
    live: set[Node] = set()
    todo = [item for item in items if names[item] & named or _binds(source, item)]
    while todo:
        item = todo.pop()
        if item not in live:
            live.add(item)
            todo += [each for each in items if each not in live and names[each] & mentions[item]]
    dead = [item for item in items if names[item] and item not in live]
    if dead:
        yield source.drop(f"remove all {len(dead)} definitions out of reach", dead)


def _binds(source: Source, item: Node) -> bool:
    return source.of(item).startswith(("PYBIND11_MODULE", "TORCH_LIBRARY"))
