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
from shrinkray_gpu.source.cuda import Source, items_of, outside_words, reached, sources, unwrap_definition
from shrinkray_gpu.source.tree import every

_KERNEL = re.compile(r"\b__global__\b")
_BINDINGS = ("PYBIND11_MODULE", "TORCH_LIBRARY")


def find(program: Program) -> Iterator[Edit]:
    everything = sources(program)
    outside = outside_words(program)
    yield from _never_called(program, everything, outside)
    for source in everything:
        named = set(outside).union(*(other.names for other in everything if other is not source))
        items = list(items_of(source.tree.root))
        kernels = (source.declares(item) for item in items if _KERNEL.search(source.of(item)))
        yield from _unreachable(source, items, named)
        yield from _unreachable(source, items, named.union(*kernels))
        for item in items:
            if not source.declares(item):
                yield source.drop(f"remove {unwrap_definition(item).kind} at line {source.line(item)}", [item], level=1)


def _never_called(program: Program, everything: list[Source], outside: Counter[str]) -> Iterator[Edit]:
    """What the script binds (`functions=["forward", "shapes"]`) and does not call, declarations included."""
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
            if name in source.declares(item)
        ]
        if items and outside[name] == len(elements):
            changes += [*items, *map(Remove, elements)]
    if changes:
        yield Edit("remove all that is never called", tuple(changes), weight=3 * len(changes))


def _unreachable(source: Source, items: list[Node], named: set[str]) -> Iterator[Edit]:
    roots = [item for item in items if source.declares(item) & named or source.of(item).startswith(_BINDINGS)]
    live = reached(source, items, roots)
    dead = [item for item in items if source.declares(item) and item not in live]
    if dead:
        yield source.drop(f"remove all {len(dead)} definitions out of reach", dead)
