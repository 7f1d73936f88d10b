"""CUDA: each definition with the statements that say its name.

The script's lists of what to bind (`functions=["forward", "backward"]`) lose the name too.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from shrinkray_gpu.reduction.edit import Change, Edit, Remove, Within
from shrinkray_gpu.reduction.native.native_change import Drop
from shrinkray_gpu.reduction.native.native_tree import Node
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import Source, depth, is_inside, items_of, sources, statement_of, unwrap_definition
from shrinkray_gpu.source.tree import every


def find(program: Program) -> Iterator[Edit]:
    everything = sources(program)
    for source in everything:
        for item in items_of(source.tree.root):
            names = source.declares(item)
            if names:
                yield from _with_uses(program, everything, source, item, names)


def _with_uses(
    program: Program, everything: list[Source], source: Source, item: Node, names: set[str]
) -> Iterator[Edit]:
    what = f"remove {unwrap_definition(item).kind} {' '.join(sorted(names))}"
    changes: list[Change] = [Within(source.literal, Drop(item))]
    for element in every(program, cst.Element):
        if isinstance(element.value, cst.SimpleString) and element.value.evaluated_value in names:
            changes.append(Remove(element))
    weight = source.weight([item])
    for other in everything:
        for name in names:
            for place in other.names.get(name, ()):
                if other is source and is_inside(place, item) or place.kind == "field_identifier":
                    continue
                user = statement_of(place)
                if user is None:
                    return
                changes.append(Within(other.literal, Drop(user)))
                weight += other.weight([user])
    yield Edit(what, tuple(changes), level=1 + depth(item), weight=weight)
