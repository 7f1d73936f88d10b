"""Arguments of functions and blocks: those that nobody reads go, and of two of one type one stands for both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from shrinkray_gpu.intermediate.edits import jumps
from shrinkray_gpu.intermediate.model import IrModule, ModuleBlock, Operation, Region, every, regions
from shrinkray_gpu.intermediate.rewriting import attributes_of_arguments, changed, with_arguments
from shrinkray_gpu.intermediate.search import Family


def _entry(function: Operation) -> ModuleBlock | None:
    return function.regions[0][0] if function.regions and function.regions[0] else None


def find_unused(module: IrModule) -> Iterator[int]:
    """What a function only hands on to itself counts as unused."""
    for function in module.functions:
        name = function.symbol
        read = {key for each in every(function) if each.setting("callee") != name for key in each.operands}
        if entry := _entry(function):
            yield from (value.key for value in entry.arguments if value.key not in read)


def drop(module: IrModule, chosen: Sequence[int]) -> IrModule:
    gone = set(chosen)

    def lighter(each: Operation) -> Sequence[Operation]:
        entry = _entry(each) if each.is_function else None
        if entry is None or not gone & {value.key for value in entry.arguments}:
            return (each,)
        return (with_arguments(each, [value for value in entry.arguments if value.key not in gone]),)

    return changed(module, lighter)


def find_twins(module: IrModule) -> Iterator[tuple[int, int]]:
    """An argument, and an earlier one of its type, of which the same is said."""
    for function in module.functions:
        first: dict[tuple[str, str], int] = {}
        if entry := _entry(function):
            for value, said in zip(entry.arguments, attributes_of_arguments(function)):
                other = first.setdefault((value.type, said), value.key)
                if other != value.key:
                    yield value.key, other


def merge(module: IrModule, chosen: Sequence[tuple[int, int]]) -> IrModule:
    merged = changed(module, lambda each: (each,), dict(chosen))
    return drop(merged, [key for key, _ in chosen])


def find_of_blocks(module: IrModule) -> Iterator[tuple[int, int]]:
    """Blocks that are jumped to, by the key of an argument, and its number."""
    for region in regions(module.top):
        for block in region[1:]:
            yield from ((value.key, at) for at, value in enumerate(block.arguments))


def drop_of_blocks(module: IrModule, chosen: Sequence[tuple[int, int]]) -> IrModule:
    """What read the argument reads one of the function's instead."""
    gone = {key for key, _ in chosen}
    return changed(module, lambda each: (each.with_regions(lambda region: _lighter(region, gone)),))


def _lighter(region: Region, gone: set[int]) -> Region:
    numbers = {
        block.label: {at for at, value in enumerate(block.arguments) if value.key in gone} for block in region[1:]
    }
    if not any(numbers.values()):
        return region
    made = []
    for block in region:
        arguments = tuple(value for value in block.arguments if block is region[0] or value.key not in gone)
        lighter = replace(block, arguments=arguments)
        made.append(lighter.with_end(jumps.without(block.end, numbers)) if block.end else lighter)
    return tuple(made)


UNUSED = Family("unused arguments", find_unused, drop)
MERGED = Family("arguments of one type", find_twins, merge)
OF_BLOCKS = Family("arguments of blocks", find_of_blocks, drop_of_blocks)
