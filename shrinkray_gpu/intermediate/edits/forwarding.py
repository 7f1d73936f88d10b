"""What an operation takes stands for what it makes, where both have one type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shrinkray_gpu.intermediate.model import IrModule, Operation, every, terminators, types
from shrinkray_gpu.intermediate.rewriting import changed
from shrinkray_gpu.intermediate.search import Family


def find(module: IrModule) -> Iterator[tuple[int, int]]:
    """Operations by their keys, and the number of the operand."""
    kinds, ends = types(module), terminators(module)
    for each in every(module.top):
        if len(each.results) == 1 and each.key not in ends:
            for at, key in enumerate(each.operands):
                if kinds[key] == each.results[0].type:
                    yield each.key, at


def apply(module: IrModule, chosen: Sequence[tuple[int, int]]) -> IrModule:
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


FAMILY = Family("operands for results", find, apply)
