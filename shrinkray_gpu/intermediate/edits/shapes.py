"""Smaller tensors: one size of a dimension for another, in all types, ranges and constants at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from shrinkray_gpu.intermediate.model import IrModule, IrValue, ModuleBlock, Operation, types
from shrinkray_gpu.intermediate.search import Family

_SHAPED = re.compile(r"\b(tensor|memdesc)<((?:\d+x)+)")
Rewrite = Callable[[str], str]
_LONGEST = 3
"""Sizes that are tried for each: the smallest first."""
_ALIAS = re.compile(r"#\w+")
_OWN = r"^[^#]*#\w+\."
"""Before the layout of a type, not of one in it."""
_SWIZZLED = re.compile(_OWN + r"nvmma_shared<\{swizzlingByteWidth = (\d+), transposed = (\w+), elementBitWidth = (\d+)")
_WGMMA = re.compile(_OWN + r"nvidia_mma<\{versionMajor = 3")
_ROWS, _COLUMNS = 64, 8
"""Of the smallest result of Hopper's wgmma, by which that of `warp_group_dot` is verified."""


def find(module: IrModule) -> Iterator[tuple[int, int]]:
    """A size, and a smaller one."""
    found = {
        int(size)
        for kind in types(module).values()
        for _, shape in _SHAPED.findall(kind)
        for size in shape.split("x")
        if size
    }
    least = _least(module)
    for size in sorted(found):
        smaller = [1 << power for power in range(size.bit_length()) if least.get(size, 1) <= 1 << power < size]
        # The search goes through these from the end.
        yield from ((size, other) for other in reversed(dict.fromkeys([*smaller[:_LONGEST], *smaller[-1:]])))


def _least(module: IrModule) -> Mapping[int, int]:
    """For sizes that a layout keeps from getting small: what Triton still parses. Where no operation asks for that
    layout's instruction any more, a smaller one would do, which is not tried."""
    aliases = dict(line.split(" = ", 1) for line in module.aliases)
    found: dict[int, int] = {}

    def note(shape: str, dimension: int, least: int) -> None:
        sizes = shape.split("x")[:-1]
        if len(sizes) >= -dimension:
            size = int(sizes[dimension])
            found[size] = max(found.get(size, 1), least)

    for kind in types(module).values():
        laid_out = _ALIAS.sub(lambda name: aliases.get(name[0], name[0]), kind)
        for _, shape in _SHAPED.findall(laid_out):
            if swizzled := _SWIZZLED.search(laid_out):
                note(shape, -2 if swizzled[2] == "true" else -1, int(swizzled[1]) * 8 // int(swizzled[3]))
            if _WGMMA.search(laid_out):
                note(shape, -2, _ROWS)
                note(shape, -1, _COLUMNS)
    return found


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

    def inside(block: ModuleBlock) -> ModuleBlock:
        operations = tuple(_mapped(each, rewrite, own) for each in block.operations)
        return replace(block, arguments=tuple(map(value, block.arguments)), operations=operations)

    properties = tuple((name, own.get((operation.name, name), rewrite)(text)) for name, text in operation.properties)
    attributes = tuple((name, rewrite(text)) for name, text in operation.attributes)
    results = tuple(map(value, operation.results))
    return replace(operation.with_blocks(inside), results=results, properties=properties, attributes=attributes)


FAMILY = Family("shapes", find, apply, alone=True)
