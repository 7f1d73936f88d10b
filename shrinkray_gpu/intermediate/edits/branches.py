"""Blocks that are jumped between: a plain jump for a choice, blocks that nothing leads to, two blocks as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from shrinkray_gpu.intermediate.edits import jumps
from shrinkray_gpu.intermediate.model import IrModule, Operation, Region, every, regions
from shrinkray_gpu.intermediate.rewriting import changed, result_types
from shrinkray_gpu.intermediate.search import Family

_END = -1


def find(module: IrModule) -> Iterator[tuple[int, int]]:
    """Jumps by their keys, and which successor stays; -1: the function ends there."""
    for function in module.functions:
        ends = function.name == "tt.func" and not result_types(function)
        for each in every(function):
            if each.name in jumps.CHOICES:
                yield from ((each.key, at) for at in range(len(each.successors)))
            if ends and each.name in (*jumps.CHOICES, *jumps.JUMPS):
                yield each.key, _END


def apply(module: IrModule, chosen: Sequence[tuple[int, int]]) -> IrModule:
    taken = dict(chosen)

    def straight(each: Operation) -> Sequence[Operation]:
        if taken.get(each.key) == _END:
            return (Operation(each.key, "tt.return"),)
        if each.key in taken and each.name in jumps.CHOICES:
            return (jumps.jump(each, taken[each.key]),)
        return (each.with_regions(_reached),)

    return changed(module, straight)


def _reached(region: Region) -> Region:
    """The blocks that jumps from the first one lead to."""
    if len(region) < 2:
        return region
    labels, waiting = {region[0].label}, [region[0]]
    by_label = {block.label: block for block in region}
    while waiting:
        block = waiting.pop()
        for label in block.end.successors if block.end else ():
            if label not in labels:
                labels.add(label)
                waiting.append(by_label[label])
    return tuple(block for block in region if block.label in labels)


def find_pairs(module: IrModule) -> Iterator[int]:
    """Jumps to a block that nothing else leads to."""
    for region in regions(module.top):
        named = [label for block in region if block.end for label in block.end.successors]
        for block in region:
            if (end := block.end) and end.name in jumps.JUMPS and named.count(end.successors[0]) == 1:
                yield end.key


def merge(module: IrModule, chosen: Sequence[int]) -> IrModule:
    ends, values = set(chosen), dict[int, int]()
    for region in regions(module.top):
        by_label = {block.label: block for block in region}
        for block in region:
            if (end := block.end) and end.key in ends:
                target = by_label[end.successors[0]]
                values |= dict(zip((value.key for value in target.arguments), end.operands))
    return changed(module, lambda each: (each.with_regions(lambda region: _merged(region, ends)),), values)


def _merged(region: Region, ends: set[int]) -> Region:
    blocks = list(region)
    at = 0
    while at < len(blocks):
        end = blocks[at].end
        target = next((b for b in blocks if end and end.key in ends and b.label == end.successors[0]), None)
        if target is None or target is blocks[at]:
            at += 1
            continue
        blocks[at] = replace(blocks[at], operations=(*blocks[at].operations[:-1], *target.operations))
        blocks.remove(target)
    return tuple(blocks)


def find_empty(module: IrModule) -> Iterator[int]:
    """Jumps that are all there is in their block, and pass nothing of its own on."""
    for region in regions(module.top):
        for block in region[1:]:
            if len(block.operations) == 1 and block.operations[0].name in jumps.JUMPS and not block.arguments:
                if block.operations[0].successors[0] != block.label:
                    yield block.operations[0].key


def thread(module: IrModule, chosen: Sequence[int]) -> IrModule:
    """Who jumps to such a block jumps where that leads to."""
    keys = set(chosen)
    return changed(module, lambda each: (each.with_regions(lambda region: _threaded(region, keys)),))


def _threaded(region: Region, keys: set[int]) -> Region:
    through = {
        block.label: block.operations[0] for block in region[1:] if block.operations and block.operations[0].key in keys
    }
    if not through:
        return region
    made = []
    for block in region:
        end = block.end
        if end is None or end.name not in (*jumps.JUMPS, *jumps.CHOICES):  # a switch has its operands in other groups
            made.append(block)
            continue
        for _ in through:  # one may lead to the next
            for at, label in enumerate(end.successors):
                if label in through:
                    end = jumps.redirected(end, at, through[label])
        made.append(block.with_end(end))
    return _reached(tuple(made))


FAMILY = Family("branches", find, apply)
EMPTY = Family("empty blocks", find_empty, thread)
MERGED = Family("blocks", find_pairs, merge)
