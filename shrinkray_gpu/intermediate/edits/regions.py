"""What stands in a loop or a branch takes its place: the body once, with what the loop began with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shrinkray_gpu.intermediate.model import IrModule, ModuleBlock, Operation, every
from shrinkray_gpu.intermediate.rewriting import changed
from shrinkray_gpu.intermediate.search import Family

_BRANCHES = ("scf.if", "scf.execute_region", "scf.index_switch")
_ITERATIONS = ("scf.for", "scf.while")


def find(module: IrModule) -> Iterator[tuple[int, int]]:
    """Operations by their keys, and which of their regions is to stay."""
    for each in every(module.top):
        if each.name in (*_BRANCHES, *_ITERATIONS):
            for at, region in enumerate(each.regions):
                if len(region) == 1 and region[0].operations:
                    yield each.key, at


def apply(module: IrModule, chosen: Sequence[tuple[int, int]]) -> IrModule:
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


FAMILY = Family("regions", find, apply)
