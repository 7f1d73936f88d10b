"""Types: smaller tensors, and no layouts, or one for another of as many dimensions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from shrinkray_gpu.intermediate.generic_text import split
from shrinkray_gpu.intermediate.model import IrModule, IrValue, ModuleBlock, Operation, every, types
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
_TENSOR = re.compile(r"\btensor<")
_PLAIN = ("builtin", "tt", "arith", "math", "scf", "cf", "ub", "tensor", "llvm")
"""Dialects whose operations take tensors without layouts; those of GPUs do not."""


def find_shapes(module: IrModule) -> Iterator[tuple[int, int]]:
    """A size of a dimension, and a smaller one, for all types, ranges and constants at once."""
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


def resize(module: IrModule, chosen: Sequence[tuple[int, int]]) -> IrModule:
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


def find_layouts(module: IrModule) -> Iterator[tuple[str, str]]:
    """A layout, and what takes its place; empty: all layouts go."""
    found: dict[str, int] = {}

    def noted(shape: str, layout: str) -> str:
        found[layout] = shape.count("x")
        return layout

    for kind in types(module).values():
        _rewritten(kind, noted)
    names = [each for each in found if each]
    for name in names:
        yield from ((name, other) for other in names if other != name and found[other] == found[name])
    if names and all(each.name.partition(".")[0] in _PLAIN for each in every(module.top)):
        yield "", ""


def lay_out(module: IrModule, chosen: Sequence[tuple[str, str]]) -> IrModule:
    ((name, other),) = chosen

    def instead(shape: str, layout: str) -> str:
        return other if not name or layout == name else layout

    return mapped(module, lambda text: _rewritten(text, instead))


def _rewritten(text: str, instead: Callable[[str, str], str]) -> str:
    """The text with another layout in each tensor's type: `instead` of its shape and its layout."""
    parts, at = [], 0
    while found := _TENSOR.search(text, at):
        end = _close(text, found.end())
        inner = split(text[found.end() : end])
        layout = instead(inner[0], inner[1] if len(inner) > 1 else "")
        parts += [text[at : found.end()], inner[0], f", {layout}" if layout else "", ">"]
        at = end + 1
    return "".join([*parts, text[at:]])


def _close(text: str, at: int) -> int:
    depth = 1
    while depth and at < len(text):
        depth += {"<": 1, ">": -1}.get(text[at], 0) if text[at - 1 : at + 1] != "->" else 0
        at += 1
    return at - 1


SHAPES = Family("shapes", find_shapes, resize, alone=True)
LAYOUTS = Family("layouts", find_layouts, lay_out, alone=True)
