"""A kernel's scalar code, executed on the arguments of a launch: bounds, predicates, indices; no data.

What depends on data in memory is None. Code that may or may not run is run once, with `maybe` set.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Dict, List, Optional, Sequence, Tuple

from . import scalars
from .ttgir import VALUE, IrBlock, IrRegion, Op, bits, parameters

TRIPS = 64  # iterations run of one loop: stage numbers repeat after at most a handful
FUEL = 50_000  # operations run of one program


@dataclass(frozen=True)
class Pointer:
    """Where a pointer points: bytes from the start of its storage (which a GPU aligns to 512), and that one's size."""

    at: Optional[int]
    size: Optional[int] = None

    @property
    def null(self) -> bool:
        return self.size == 0  # torch gives an empty storage no address


@dataclass(frozen=True)
class Descriptor:
    """A tensor descriptor made by the host: extents and strides in elements, where known (outermost first)."""

    shape: Tuple[Optional[int], ...]
    strides: Tuple[Optional[int], ...]
    base: Optional[Pointer] = None
    width: Optional[int] = None  # bytes of an element


class OutOfFuel(Exception):
    """Out of fuel."""


class Endless(Exception):
    """A loop that does not get on: what comes of the launch is a hang, whatever the copies before it do.

    The pipeliner fetches the first stages before the loop, each where `start + stage * step < end`: with a step of 0
    those of all stages, so that the copies alone look like two trips where a device makes one for ever.
    """


class Jump:
    """Control goes to another block of the same region."""

    def __init__(self, label: str, values: List[Any]) -> None:
        self.label = label
        self.values = values


class KernelProgram:
    """One program of the grid, executed on what is known at its launch. A subclass says what other operations do."""

    to_the_end = False  # of a loop of more than TRIPS, run the last trip too

    def __init__(self, functions: Dict[str, Op], program: Tuple[int, ...], grid: Tuple[int, ...]) -> None:
        self.functions = functions
        self.program = dict(zip("xyz", program))
        self.grid = dict(zip("xyz", grid))
        self.env: Dict[str, Any] = {}
        self.maybe = 0  # inside code that may not run
        self.fuel = FUEL
        self.doubt = ""
        self.name = ""

    def start(self, args: Sequence[Any]) -> None:
        self.name, function = next(iter(self.functions.items()))
        names = parameters(function)
        if len(names) != len(args):
            self.doubt = "arguments do not match the kernel's parameters"
            args = [None] * len(names)
        self.env.update(zip(names, args))
        if function.regions:
            self.region(function.regions[0])

    def get(self, name: str) -> Any:
        return self.env.get(name)

    def number(self, name: str) -> Optional[int]:
        """What is known of an integer; of a pointer, what it is modulo the alignment of allocations."""
        value = self.env.get(name)
        if isinstance(value, Pointer):
            return value.at
        return int(value) if isinstance(value, int) else None

    def region(self, region: IrRegion) -> List[Any]:
        """Run a region to its terminator; the values it hands on."""
        block: Optional[IrBlock] = region.blocks[0]
        jumps = 0
        while block is not None:
            out = self.block(block)
            if not isinstance(out, Jump):
                return out
            jumps += 1
            target = next((b for b in region.blocks if b.label == out.label), None)
            if target is None or jumps > TRIPS:
                return []
            self.env.update(zip(target.args, out.values))
            block = target
        return []

    def block(self, block: IrBlock) -> Any:
        for op in block.ops:
            self.fuel -= 1
            if self.fuel < 0:
                raise OutOfFuel
            leaves = _LEAVES.get(op.name)
            if leaves is not None:
                return leaves(self, op)
            if op.of_floats:  # of which nothing is known, not even of a constant
                self.set(op)
            else:
                self.run(op)
        return []

    def run(self, op: Op) -> None:
        dialect, _, name = op.name.partition(".")
        handler = _HANDLERS.get(op.name)
        if handler is not None:
            handler(self, op)
        elif dialect == "arith":
            self.arithmetic(op, name)
        else:
            self.other(op, name)

    def other(self, op: Op, name: str) -> None:
        """An operation that is neither control nor integer arithmetic."""
        self.set(op, None)

    def set(self, op: Op, *values: Any) -> None:
        for i, result in enumerate(op.results):
            self.env[result] = values[i] if i < len(values) else None

    def arithmetic(self, op: Op, name: str) -> None:
        if name == "constant":
            self.set(op, scalars.constant(re.sub(r"^\{[^}]*\} ", "", op.body)))
        elif "tensor<" in op.body:
            self.set(op, None)
        else:
            names = op.operands()
            if (
                name == "select"
                and len(names) == 3
                and not all(isinstance(self.get(n), (int, type(None))) for n in names[1:])
            ):
                condition = self.number(names[0])
                self.set(op, None if condition is None else self.get(names[1 if condition else 2]))
                return
            self.set(op, scalars.evaluate(name, op.body, [self.number(n) for n in names]))

    def loop(self, op: Op) -> None:
        found = re.match(r"(unsigned )?(%[\w.$-]+) = (\S+) to (\S+) step (\S+)(?: iter_args\((.*?)\) ->)?", op.body)
        if found is None or not op.regions:
            self.set(op)
            return
        variable, *bounds = found.group(2, 3, 4, 5)
        pairs = re.findall(r"(%[\w.$-]+) = (%[\w.$#-]+)", found.group(6) or "")
        carried = [self.get(start) for _, start in pairs]
        names = [name for name, _ in pairs]
        low, high, step = (self.number(b) for b in bounds)
        if low is not None and high is not None and low >= high:
            self.set(op, *carried)
            return
        if step is not None and (step == 0 or step < 0 and not found.group(1)):
            why = "a loop of step %d never ends" % step
            if not self.maybe:
                raise Endless(why)
            self.doubt = self.doubt or why
        if low is None or high is None or step is None or step <= 0:
            self.uncertain(op.regions[0], [variable, *names], [None] * (1 + len(names)))
            self.set(op)
            return
        trips = 0
        for value in range(low, high, step):
            if trips == TRIPS:
                carried = [None] * len(carried)
                if self.to_the_end:
                    self.env[variable] = range(low, high, step)[-1]
                    self.env.update(zip(names, carried))
                    self.region(op.regions[0])
                break
            self.env[variable] = value
            self.env.update(zip(names, carried))
            carried = self.region(op.regions[0])
            trips += 1
        self.set(op, *carried)

    def uncertain(self, region: IrRegion, names: List[str], values: List[Any]) -> List[Any]:
        """Run once what may run or not."""
        self.env.update(zip(names, values))
        self.maybe += 1
        try:
            return self.region(region)
        finally:
            self.maybe -= 1

    def branch(self, op: Op) -> None:
        condition = self.number(op.operands()[0])
        if condition is None:
            outs = [self.uncertain(region, [], []) for region in op.regions]
            same = outs[0] if len(outs) == 2 and outs[0] == outs[1] else []
            self.set(op, *same)
        elif condition:
            self.set(op, *self.region(op.regions[0]))
        elif len(op.regions) > 1:
            self.set(op, *self.region(op.regions[1]))
        else:
            self.set(op)

    def loop_while(self, op: Op) -> None:
        pairs = re.findall(r"(%[\w.$-]+) = (%[\w.$#-]+)", op.body)
        names, values = [n for n, _ in pairs], [self.get(v) for _, v in pairs]
        for _ in range(TRIPS):
            self.env.update(zip(names, values))
            condition, *handed = self.region(op.regions[0]) or [None]
            if condition == 0:
                self.set(op, *handed)
                return
            body = op.regions[1]
            self.env.update(zip(body.blocks[0].args, handed))
            if condition is None:
                self.uncertain(body, [], [])
                break
            values = self.region(body)
        self.set(op)

    def specialize(self, op: Op) -> None:
        """All partitions run; each sees what is captured under names of its own."""
        head = re.match(r"\(([^)]*)\)", op.body)
        captured = [self.get(n) for n in VALUE.findall(head.group(1))] if head else []
        for region in op.regions:
            outer = dict(self.env)
            if region.head.startswith("partition"):
                self.env.update(zip(region.blocks[0].args, captured))
            handed = self.region(region)
            self.env = outer
            if region.head == "default":
                results = handed
        self.set(op, *(results if op.regions else []))

    def call(self, op: Op) -> None:
        found = re.match(r'@("[^"]*"|[\w.$-]+)', op.body)
        function = self.functions.get(found.group(1).strip('"')) if found else None
        if function is None or not function.regions:
            self.set(op)
            return
        outer = self.env
        self.env = dict(zip(parameters(function), [outer.get(n) for n in op.operands()]))
        try:
            handed = self.region(function.regions[0])
        finally:
            self.env = outer
        self.set(op, *handed)

    def axis(self, op: Op, of: Dict[str, int]) -> None:
        self.set(op, of.get(op.body[:1]))

    def pointer(self, op: Op) -> None:
        """`tt.addptr %p, %i`."""
        found = re.search(r": !tt\.ptr<(\w+)", op.body)
        base, offset = (self.number(n) for n in (op.operands() + ["", ""])[:2])
        size = bits(found.group(1)) // 8 if found else None
        at = None if base is None or offset is None or size is None else base + offset * size
        pointer = self.get(op.operands()[0])
        self.set(op, replace(pointer, at=at) if isinstance(pointer, Pointer) else at)


def _hand_on(program: KernelProgram, op: Op) -> List[Any]:
    return [program.get(n) for n in op.operands()]


def _jump(program: KernelProgram, op: Op) -> Any:
    target = re.findall(r"(\^\w+)(?:\(([^)]*)\))?", op.body)
    if op.name == "cf.cond_br":
        condition = program.number(op.operands()[0])
        if condition is None:  # go on where the kernel goes on: an early return is the exception
            program.doubt = program.doubt or "a branch depends on data"
            program.maybe += 1
            condition = 0
        target = target[:1] if condition else target[1:2]
    label, values = target[0] if target else ("", "")
    return Jump(label, [program.get(n) for n in VALUE.findall(values.partition(" : ")[0])])


_LEAVES: Dict[str, Any] = {
    **dict.fromkeys(
        ("scf.yield", "scf.condition", "ttg.warp_yield", "ttg.warp_return", "tt.return", "ttg.mask.return"), _hand_on
    ),
    **dict.fromkeys(("cf.br", "cf.cond_br"), _jump),
}
_HANDLERS: Dict[str, Any] = {
    "scf.for": KernelProgram.loop,
    "scf.if": KernelProgram.branch,
    "scf.while": KernelProgram.loop_while,
    "ttg.warp_specialize": KernelProgram.specialize,
    "tt.call": KernelProgram.call,
    "tt.addptr": KernelProgram.pointer,
    "tt.get_program_id": lambda p, op: p.axis(op, p.program),
    "tt.get_num_programs": lambda p, op: p.axis(op, p.grid),
}
