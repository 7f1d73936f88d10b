"""A module of MLIR as data: operations, the values that they make and use, regions, blocks.

Attributes and types stay text. What an edit must know is who uses what, and that is all that the model resolves: each
value has a key of its own, whatever scope its name stood in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

_BARE = re.compile(r"[A-Za-z_][\w$.]*", re.ASCII)
"""A name that MLIR prints without quotes behind @."""
FUNCTION = "function_type"
"""The property that makes an operation a function."""


@dataclass(frozen=True)
class IrValue:
    """What an operation makes, or an argument of a block."""

    key: int
    type: str


@dataclass(frozen=True)
class ModuleBlock:
    """A label, arguments, operations; the last of these is the terminator, in all but a module's block."""

    label: str
    arguments: tuple[IrValue, ...]
    operations: tuple[Operation, ...]

    @property
    def end(self) -> Operation | None:
        """Its last operation; None where it has none."""
        return self.operations[-1] if self.operations else None

    def with_end(self, end: Operation) -> ModuleBlock:
        """The block with another last operation."""
        return replace(self, operations=(*self.operations[:-1], end))


Region = tuple[ModuleBlock, ...]


@dataclass(frozen=True)
class Operation:
    """One operation in generic form. `operands` are keys of values; properties and attributes keep their order."""

    key: int
    name: str
    results: tuple[IrValue, ...] = ()
    operands: tuple[int, ...] = ()
    successors: tuple[str, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    regions: tuple[Region, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()

    @property
    def symbol(self) -> str:
        """How a call names it: `@name`, or `@"a name"` where it needs quotes; empty if it has no name."""
        quoted = self.setting("sym_name")
        name = quoted[1:-1]
        return f"@{name if _BARE.fullmatch(name) else quoted}" if name else ""

    def setting(self, name: str) -> str:
        """The text of a property; empty if it has none of this name."""
        return dict(self.properties).get(name, "")

    @property
    def is_function(self) -> bool:
        return any(name == FUNCTION for name, _ in self.properties)

    def inner(self) -> Iterator[Operation]:
        """The operations directly in its regions."""
        for region in self.regions:
            for block in region:
                yield from block.operations

    def with_regions(self, change: Callable[[Region], Region]) -> Operation:
        """The operation with each of its regions changed. The same object if nothing changed."""
        regions = tuple(map(change, self.regions))
        return replace(self, regions=regions) if regions != self.regions else self

    def with_blocks(self, change: Callable[[ModuleBlock], ModuleBlock]) -> Operation:
        """The same of each block."""
        return self.with_regions(lambda region: tuple(map(change, region)))


@dataclass(frozen=True)
class IrModule:
    """The aliases that its text begins with, and the operation of the module itself."""

    aliases: tuple[str, ...]
    top: Operation

    @property
    def functions(self) -> tuple[Operation, ...]:
        return tuple(each for each in self.top.inner() if each.is_function)


def every(operation: Operation) -> Iterator[Operation]:
    """It and all below it, in the order of the text."""
    yield operation
    for each in operation.inner():
        yield from every(each)


def regions(operation: Operation) -> Iterator[Region]:
    """All regions below it."""
    for each in every(operation):
        yield from each.regions


def blocks(operation: Operation) -> Iterator[ModuleBlock]:
    """All blocks below it."""
    for region in regions(operation):
        yield from region


def types(module: IrModule) -> Mapping[int, str]:
    """The type of each value by its key."""
    made = {value.key: value.type for each in every(module.top) for value in each.results}
    return made | {value.key: value.type for block in blocks(module.top) for value in block.arguments}


def fresh(module: IrModule) -> int:
    """From this number on, no operation and no value has it as its key."""
    operations = max(each.key for each in every(module.top))
    return max(operations, *types(module), 0) + 1 if types(module) else operations + 1


def terminators(module: IrModule) -> set[int]:
    """The keys of the operations that end a block, and may not go alone."""
    return {block.end.key for each in module.top.inner() for block in blocks(each) if block.end}


def count(module: IrModule) -> int:
    """Its operations, as a reader counts them: without the module, its functions, and what only ends a block without a
    value."""
    ends = terminators(module)
    return sum(
        not each.is_function and each.key != module.top.key and not (each.key in ends and not each.operands)
        for each in every(module.top)
    )


def size(module: IrModule, text: str) -> tuple[int, int, int, int]:
    """What a search makes smaller: operations, then arguments of blocks, blocks, and characters of its text."""
    inside = list(blocks(module.top))
    return (
        sum(1 for _ in every(module.top)) + count(module),
        sum(len(block.arguments) for block in inside),
        len(inside),
        len(text),
    )
