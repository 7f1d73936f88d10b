"""Operations: they go in any set, what one takes stands for what it makes, and masks and the like are left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from shrinkray_gpu.intermediate.edits import jumps
from shrinkray_gpu.intermediate.model import IrModule, Operation, every, terminators, types
from shrinkray_gpu.intermediate.rewriting import changed, without
from shrinkray_gpu.intermediate.search import Family

_OPTIONAL = {"tt.load": (2, 1), "ttg.async_copy_global_to_local": (3, 2), "amdg.buffer_load": (4, 3, 2)}
"""The groups of operands that may be empty, the last first: a value for masked elements needs a mask."""
_LAST = {"tt.store": 2, "tt.atomic_rmw": 2}
"""How many operands an operation needs whose last one may be left out."""


def find(module: IrModule) -> Iterator[int]:
    ends = terminators(module)
    for function in module.functions:
        for each in every(function):
            if each.key != function.key and each.key not in ends:
                yield each.key


def apply(module: IrModule, chosen: Sequence[int]) -> IrModule:
    """What they made and others use becomes an argument of the function."""
    return without(module, set(chosen))


def find_forwarded(module: IrModule) -> Iterator[tuple[int, int]]:
    """Operations by their keys, and the number of an operand of the type of the result."""
    kinds, ends = types(module), terminators(module)
    for each in every(module.top):
        if len(each.results) == 1 and each.key not in ends:
            for at, key in enumerate(each.operands):
                if kinds[key] == each.results[0].type:
                    yield each.key, at


def forward(module: IrModule, chosen: Sequence[tuple[int, int]]) -> IrModule:
    named = dict(chosen)
    operand = {
        each.key: each
        for each in every(module.top)
        if len(each.results) == 1 and named.get(each.key, len(each.operands)) < len(each.operands)
    }
    values = {each.results[0].key: each.operands[named[key]] for key, each in operand.items()}

    def forwarded(each: Operation) -> Sequence[Operation]:
        return () if each.key in operand else (each,)

    return changed(module, forwarded, values)


def find_operands(module: IrModule) -> Iterator[tuple[int, int]]:
    """Operations by their keys, and the group of operands that it can do without; -1: the last one."""
    for each in every(module.top):
        if each.name in _LAST and len(each.operands) > _LAST[each.name]:
            yield each.key, -1
        sizes = jumps.segments(each)
        for group in _OPTIONAL.get(each.name, ()):
            if group < len(sizes) and sizes[group] == 1:
                yield each.key, group
                break


def leave_out(module: IrModule, chosen: Sequence[tuple[int, int]]) -> IrModule:
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


FAMILY = Family("operations", find, apply)
FORWARDED = Family("operands for results", find_forwarded, forward)
OPERANDS = Family("operands", find_operands, leave_out)
