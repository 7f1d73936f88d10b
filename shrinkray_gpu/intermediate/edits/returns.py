"""What functions return: less of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from shrinkray_gpu.intermediate.model import IrModule, ModuleBlock, Operation, every
from shrinkray_gpu.intermediate.rewriting import changed, result_types, with_types
from shrinkray_gpu.intermediate.search import Family

RETURNS = ("tt.return", "func.return", "llvm.return")


def uncalled(module: IrModule) -> list[Operation]:
    """Functions that nobody calls: their types are their own."""
    names = {text for each in every(module.top) for _, text in each.properties}
    free = (each for each in module.functions if each.symbol not in names)
    return [each for each in free if each.regions and each.regions[0]]


def find(module: IrModule) -> Iterator[tuple[int, int]]:
    """Functions by their keys, and the number of the result."""
    for function in module.functions:
        yield from ((function.key, at) for at in range(len(result_types(function))))


def apply(module: IrModule, chosen: Sequence[tuple[int, int]]) -> IrModule:
    gone: dict[int, set[int]] = {}
    for key, at in chosen:
        gone.setdefault(key, set()).add(at)

    names = {each.symbol: gone[each.key] for each in module.functions if each.key in gone}

    def lighter(each: Operation) -> Sequence[Operation]:
        if each.setting("callee") in names:
            left_out = names[each.setting("callee")]
            return (replace(each, results=tuple(one for at, one in enumerate(each.results) if at not in left_out)),)
        if each.key not in gone or not each.is_function or not each.regions[0]:
            return (each,)
        left = [kind for at, kind in enumerate(result_types(each)) if at not in gone[each.key]]
        fewer = each.with_blocks(lambda block: _ended(block, gone[each.key]))
        return (with_types(fewer, [value.type for value in fewer.regions[0][0].arguments], left),)

    return changed(module, lighter)


def _ended(block: ModuleBlock, gone: set[int]) -> ModuleBlock:
    """The block whose return gives no results of these numbers."""
    end = block.operations[-1]
    if end.name not in RETURNS:
        return block
    return block.with_end(replace(end, operands=tuple(key for at, key in enumerate(end.operands) if at not in gone)))


FAMILY = Family("returned values", find, apply)
