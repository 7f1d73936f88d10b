"""What makes one value, and nothing else: that value is returned, or written to if it is a pointer. No kernel returns
pointers, so a pass that was mended may refuse that.

An operation that nobody reads is dropped by most passes before they come to the fault. So the last reader of what
matters cannot just go: something shorter takes its place. What a loop hands its body comes in as an argument.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from shrinkray_gpu.intermediate.edits.functions import RETURNS, uncalled
from shrinkray_gpu.intermediate.model import IrModule, IrValue, Operation, every, fresh, types
from shrinkray_gpu.intermediate.rewriting import (
    attributes_of_arguments,
    changed,
    with_attributes_of_arguments,
    with_types,
)
from shrinkray_gpu.intermediate.search import Family

_POINTERS = re.compile(r"!tt\.ptr<([^<>]*)>")
RETURN, STORE = "return", "store"


def find(module: IrModule) -> Iterator[tuple[int, int, str]]:
    """Functions and values by their keys, and how the value is read."""
    for function in uncalled(module):
        if function.regions[0][0].operations[-1].name not in RETURNS:
            continue
        for each in every(function):
            for value in each.results:
                yield function.key, value.key, STORE if _POINTERS.search(value.type) else RETURN


def apply(module: IrModule, chosen: Sequence[tuple[int, int, str]]) -> IrModule:
    ((key, value, way),) = chosen
    if value not in types(module):
        return module
    kinds, free = types(module), fresh(module)

    def sliced(each: Operation) -> Sequence[Operation]:
        if each.key != key:
            return (each,)
        kept = _slice(each, value)
        return (_read(each, kept, value, kinds[value], way, free),) if kept else (each,)

    return changed(module, sliced)


def _read(function: Operation, kept: list[Operation], value: int, kind: str, way: str, free: int) -> Operation:
    entry = function.regions[0][0]
    end = replace(entry.operations[-1], operands=(value,) if way == RETURN else ())
    gives = [kind] if way == RETURN else []
    arguments = entry.arguments
    if way == STORE:
        written = IrValue(free, _POINTERS.sub(lambda found: found[1].split(",")[0], kind))
        arguments = (*arguments, written)
        kept = [*kept, Operation(free + 1, "tt.store", operands=(value, free), properties=_PLAIN)]
    block = replace(entry, arguments=arguments, operations=(*kept, end))
    whole = replace(function, regions=((block,),))
    if way == STORE:
        said = [*attributes_of_arguments(function), "{}"]
        whole = with_attributes_of_arguments(whole, said)
    return with_types(whole, [each.type for each in arguments], gives)


_PLAIN = (("boundaryCheck", "array<i32>"), ("cache", "1 : i32"), ("evict", "1 : i32"))


def _slice(function: Operation, value: int) -> list[Operation]:
    """The operations that the value needs, in the order of the text; empty where it is made in one of them."""
    makers: Mapping[int, Operation] = {made.key: each for each in every(function) for made in each.results}
    needed: dict[int, Operation] = {}
    waiting = [value]
    while waiting:
        maker = makers.get(waiting.pop())
        if maker is not None and maker.key not in needed:
            needed[maker.key] = maker
            waiting += [key for each in every(maker) for key in each.operands]
    within = {inner.key for each in needed.values() for inner in every(each) if inner is not each}
    if value not in makers or makers[value].key in within:
        return []
    return [each for each in every(function) if each.key in needed and each.key not in within]


FAMILY = Family("slices", find, apply, alone=True)
