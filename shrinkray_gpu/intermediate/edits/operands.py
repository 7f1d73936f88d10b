"""Operands that an operation can do without: a mask, what a masked load gives instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from shrinkray_gpu.intermediate.edits import jumps
from shrinkray_gpu.intermediate.model import IrModule, Operation, every
from shrinkray_gpu.intermediate.rewriting import changed
from shrinkray_gpu.intermediate.search import Family

_OPTIONAL = {"tt.load": (2, 1), "ttg.async_copy_global_to_local": (3, 2), "amdg.buffer_load": (4, 3, 2)}
"""The groups of operands that may be empty, the last first: a value for masked elements needs a mask."""
_LAST = {"tt.store": 2, "tt.atomic_rmw": 2}
"""How many operands an operation needs whose last one may be left out."""


def find(module: IrModule) -> Iterator[tuple[int, int]]:
    for each in every(module.top):
        if each.name in _LAST and len(each.operands) > _LAST[each.name]:
            yield each.key, -1
        sizes = jumps.segments(each)
        for group in _OPTIONAL.get(each.name, ()):
            if group < len(sizes) and sizes[group] == 1:
                yield each.key, group
                break


def apply(module: IrModule, chosen: Sequence[tuple[int, int]]) -> IrModule:
    groups = dict(chosen)

    def lighter(each: Operation) -> Sequence[Operation]:
        group = groups.get(each.key)
        if group is None:
            return (each,)
        if group < 0:
            return (replace(each, operands=each.operands[:-1]) if len(each.operands) > _LAST[each.name] else each,)
        sizes = jumps.segments(each)
        if sizes[group] != 1:
            return (each,)
        at = sum(sizes[:group])
        fewer = replace(each, operands=(*each.operands[:at], *each.operands[at + 1 :]))
        return (jumps.with_segments(fewer, [*sizes[:group], 0, *sizes[group + 1 :]]),)

    return changed(module, lighter)


FAMILY = Family("operands", find, apply)
