"""Smaller tensors: one size of a dimension for another, in all types, ranges and constants at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from shrinkray_gpu.intermediate.model import IrModule, IrValue, Operation, types
from shrinkray_gpu.intermediate.search import Family

_SHAPED = re.compile(r"\b(tensor|memdesc)<((?:\d+x)+)")
Rewrite = Callable[[str], str]
_LONGEST = 3
"""Sizes that are tried for each: the smallest first."""


def find(module: IrModule) -> Iterator[tuple[int, int]]:
    """A size, and a smaller one."""
    found = {
        int(size)
        for kind in types(module).values()
        for _, shape in _SHAPED.findall(kind)
        for size in shape.split("x")
        if size
    }
    for size in sorted(found):
        smaller = [1 << power for power in range(size.bit_length()) if 1 << power < size]
        # The search goes through these from the end.
        yield from ((size, other) for other in reversed(dict.fromkeys([*smaller[:_LONGEST], *smaller[-1:]])))


def apply(module: IrModule, chosen: Sequence[tuple[int, int]]) -> IrModule:
    ((size, other),) = chosen

    def resized(text: str) -> str:
        return _SHAPED.sub(lambda found: f"{found[1]}<{_shape(found[2], size, other)}", text)

    def ended(text: str) -> str:
        return re.sub(rf"^{size}\b", str(other), text)

    return mapped(module, resized, {("tt.make_range", "end"): ended})


def _shape(shape: str, size: int, other: int) -> str:
    return "".join(f"{other if int(each) == size else each}x" for each in shape.split("x")[:-1])


def mapped(
    module: IrModule, rewrite: Rewrite, own: Mapping[tuple[str, str], Rewrite] = MappingProxyType({})
) -> IrModule:
    """The module with the text of each type and property rewritten; `own` says how, of an operation's own property."""
    return replace(module, top=_mapped(module.top, rewrite, own))


def _mapped(operation: Operation, rewrite: Rewrite, own: Mapping[tuple[str, str], Rewrite]) -> Operation:
    def value(each: IrValue) -> IrValue:
        return IrValue(each.key, rewrite(each.type))

    regions = tuple(
        tuple(
            replace(
                block,
                arguments=tuple(map(value, block.arguments)),
                operations=tuple(_mapped(each, rewrite, own) for each in block.operations),
            )
            for block in region
        )
        for region in operation.regions
    )
    properties = tuple((name, own.get((operation.name, name), rewrite)(text)) for name, text in operation.properties)
    attributes = tuple((name, rewrite(text)) for name, text in operation.attributes)
    results = tuple(map(value, operation.results))
    return replace(operation, results=results, regions=regions, properties=properties, attributes=attributes)


FAMILY = Family("shapes", find, apply, alone=True)
