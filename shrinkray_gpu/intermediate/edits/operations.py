"""Operations go, in any set: what they made and others use becomes an argument of the function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shrinkray_gpu.intermediate.model import IrModule, every, terminators
from shrinkray_gpu.intermediate.rewriting import without
from shrinkray_gpu.intermediate.search import Family


def find(module: IrModule) -> Iterator[int]:
    ends = terminators(module)
    for function in module.functions:
        for each in every(function):
            if each.key != function.key and each.key not in ends:
                yield each.key


def apply(module: IrModule, chosen: Sequence[int]) -> IrModule:
    return without(module, set(chosen))


FAMILY = Family("operations", find, apply)
