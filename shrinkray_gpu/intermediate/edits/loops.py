"""Loops and branches: what stands in one takes its place, and what one carries goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from shrinkray_gpu.intermediate.model import IrModule, ModuleBlock, Operation, every
from shrinkray_gpu.intermediate.rewriting import changed
from shrinkray_gpu.intermediate.search import Family

_BRANCHES = ("scf.if", "scf.execute_region", "scf.index_switch")
_ITERATIONS = ("scf.for", "scf.while")
_CARRYING = {"scf.for": 3, "scf.if": -1}
"""How many operands stand before those that begin what is carried; -1: there are none."""


def find(module: IrModule) -> Iterator[tuple[int, int]]:
    """Operations by their keys, and which of their regions is to stay."""
    for each in every(module.top):
        if each.name in (*_BRANCHES, *_ITERATIONS):
            for at, region in enumerate(each.regions):
                if len(region) == 1 and region[0].operations:
                    yield each.key, at


def apply(module: IrModule, chosen: Sequence[tuple[int, int]]) -> IrModule:
    """The body once, with what the loop began with."""
    kept = dict(chosen)
    values: dict[int, int] = {}
    for each in every(module.top):
        if each.key in kept:
            block = each.regions[kept[each.key]][0]
            values |= _begun(each, block) | _ended(each, block)

    def inlined(each: Operation) -> Sequence[Operation]:
        return each.regions[kept[each.key]][0].operations[:-1] if each.key in kept else (each,)

    return changed(module, inlined, values)


def _begun(operation: Operation, block: ModuleBlock) -> dict[int, int]:
    """What the arguments of a body are at first."""
    first = operation.operands
    if operation.name == "scf.for":
        first = (operation.operands[0], *operation.operands[3:])
    return dict(zip((value.key for value in block.arguments), first))


def _ended(operation: Operation, block: ModuleBlock) -> dict[int, int]:
    """What the operation makes, by what its body hands on."""
    last = block.operations[-1]
    given = last.operands[1:] if last.name == "scf.condition" else last.operands
    return dict(zip((value.key for value in operation.results), given))


def find_carried(module: IrModule) -> Iterator[tuple[int, int]]:
    """Operations and their results by their keys."""
    for each in every(module.top):
        if each.name in _CARRYING:
            yield from ((each.key, value.key) for value in each.results)


def carry_less(module: IrModule, chosen: Sequence[tuple[int, int]]) -> IrModule:
    """The result goes, what begins it, and what the body hands on."""
    results = {value for _, value in chosen}
    gone = {
        each.key: {at for at, value in enumerate(each.results) if value.key in results}
        for each in every(module.top)
        if each.key in {key for key, _ in chosen}
    }
    values: dict[int, int] = {}
    for each in every(module.top):
        if each.key in gone and each.name == "scf.for":
            for at in gone[each.key]:
                values[each.regions[0][0].arguments[at + 1].key] = each.operands[at + 3]

    def lighter(each: Operation) -> Sequence[Operation]:
        return (_without(each, gone[each.key]),) if each.key in gone else (each,)

    return changed(module, lighter, values)


def _without(operation: Operation, gone: set[int]) -> Operation:
    first = _CARRYING[operation.name]

    def lighter(block: ModuleBlock) -> ModuleBlock:
        end, arguments = block.operations[-1], block.arguments
        if first >= 0:
            arguments = (arguments[0], *_left(arguments[1:], gone))
        return replace(block, arguments=arguments).with_end(replace(end, operands=_left(end.operands, gone)))

    operands = operation.operands
    if first >= 0:
        operands = (*operands[:first], *_left(operands[first:], gone))
    return replace(operation.with_blocks(lighter), results=_left(operation.results, gone), operands=operands)


def _left(every: tuple, gone: set[int]) -> tuple:  # type: ignore[type-arg]
    return tuple(each for at, each in enumerate(every) if at not in gone)


REGIONS = Family("regions", find, apply)
CARRIED = Family("carried values", find_carried, carry_less)
