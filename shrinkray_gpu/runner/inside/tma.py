"""The static rule `static:tma-alignment`: does this launch execute a TMA copy whose end in shared memory is not 128-byte aligned?

The mechanism of Triton issue 10474: a pipelined loop keeps its stages in one shared buffer, tile-size apart. A tile of 16, 32 or
64 bytes puts stage 1 at 16, 32 or 64 modulo 128, which the hardware refuses. The rule counts a copy only if it runs: so the
kernel's scalar code (bounds, predicates, stage numbers) is executed here on the launch's arguments, for the first and the last
program of the grid. What depends on data in memory is unknown; unknown is not a fault, and is told apart in `Finding.unknown`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple

from . import scalars
from .ttgir import VALUE, Block, Op, Region, parameters, parse

ALIGNMENT = 128
TRIPS = 64  # iterations run of one loop: stage numbers repeat after at most a handful
FUEL = 50_000  # operations run of one program


@dataclass(frozen=True)
class Descriptor:
    """A tensor descriptor: extents and strides in elements, where known (outermost first)."""

    shape: Tuple[Optional[int], ...]
    strides: Tuple[Optional[int], ...]


@dataclass(frozen=True)
class Finding:
    """`reason`: why the launch faults, else empty. `unknown`: why that could not be decided, else empty."""

    reason: str = ""
    unknown: str = ""


@dataclass(frozen=True)
class _Memory:
    """A piece of shared memory: its offset from a 128-byte boundary, None if not known; and what one step of its buffer is."""

    offset: Optional[int]
    step: int = 0


@dataclass(frozen=True)
class _Map:
    """A descriptor made on the device: whether a copy through it can run at all."""

    runs: bool


class _Found(Exception):
    """The copy that faults."""


class _Tired(Exception):
    """Out of fuel."""


def misaligned(ttgir: str, grid: Sequence[int], args: Sequence[Any]) -> str:
    """One line that names the faulting copy, or the empty string.

    `args` are the values of the kernel's parameters in order (what is specialised away is not among them): integers, a
    Descriptor, for a pointer its offset from an aligned address, None for what is not known.
    """
    return examine(ttgir, grid, args).reason


def examine(ttgir: str, grid: Sequence[int], args: Sequence[Any]) -> Finding:
    """As `misaligned`, and says what stayed undecided."""
    if not _suspect(ttgir):
        return Finding()
    sizes = (tuple(grid) + (1, 1, 1))[:3]
    if 0 in sizes:
        return Finding()
    functions = parse(ttgir)
    if not functions:
        return Finding(unknown="no kernel in the IR")
    unknown = ""
    programs = [(0, 0, 0), tuple(n - 1 for n in sizes)]
    for program in programs[: 1 if programs[0] == programs[1] else 2]:
        run = _Program(functions, program, sizes)
        try:
            run.start(args)
        except _Found as found:
            return Finding(reason=str(found))
        except _Tired:
            unknown = unknown or "the kernel runs too long to follow"
        unknown = unknown or run.doubt
    return Finding(unknown=unknown)


_COPY = re.compile(r"ttng\.async_tma_(?:copy|gather|scatter|reduce)[^\n]*")
_MEMDESC = re.compile(r"!ttg\.memdesc<((?:\d+x)*)([a-z]\w*)")
_BYTES = {"f64": 64, "i64": 64, "f32": 32, "i32": 32, "tf32": 32, "f16": 16, "bf16": 16, "i16": 16}


def _suspect(text: str) -> bool:
    """Cheap: is there a copy of a tile whose size is no multiple of the alignment, or of part of a buffer?"""
    copies = _COPY.findall(text)
    parts = "memdesc_subslice" in text or "memdesc_subview" in text
    return any(parts or _size(found)[1] % ALIGNMENT for line in copies for found in [_MEMDESC.findall(line)] if found)


def _size(memdescs: List[Tuple[str, str]]) -> Tuple[List[int], int]:
    """Shape and bytes of the last memory descriptor named."""
    dims, kind = memdescs[-1]
    shape = [int(n) for n in dims.split("x") if n]
    bits = _BYTES.get(kind, 8)
    for n in shape:
        bits *= n
    return shape, bits // 8


class _Program:
    """One program of the grid, executed on its scalars."""

    def __init__(self, functions: Dict[str, Op], program: Tuple[int, ...], grid: Tuple[int, ...]) -> None:
        self.functions = functions
        self.program = dict(zip("xyz", program))
        self.grid = dict(zip("xyz", grid))
        self.env: Dict[str, Any] = {}
        self.maps: Dict[str, _Map] = {}
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
        value = self.env.get(name)
        return int(value) if isinstance(value, int) else None

    def region(self, region: Region) -> List[Any]:
        """Run a region to its terminator; the values it hands on."""
        block: Optional[Block] = region.blocks[0]
        jumps = 0
        while block is not None:
            out = self.block(block)
            if not isinstance(out, _Jump):
                return out
            jumps += 1
            target = next((b for b in region.blocks if b.label == out.label), None)
            if target is None or jumps > TRIPS:
                return []
            self.env.update(zip(target.args, out.values))
            block = target
        return []

    def block(self, block: Block) -> Any:
        for op in block.ops:
            self.fuel -= 1
            if self.fuel < 0:
                raise _Tired
            leaves = _LEAVES.get(op.name)
            if leaves is not None:
                return leaves(self, op)
            self.run(op)
        return []

    def run(self, op: Op) -> None:
        dialect, _, name = op.name.partition(".")
        handler = _HANDLERS.get(op.name)
        if handler is not None:
            handler(self, op)
        elif dialect == "arith":
            self.arithmetic(op, name)
        elif "tma_" in name and dialect == "ttng":
            self.copy(op)
        elif "memdesc_" in name:
            self.view(op)
        elif "tensormap_create" in name:
            self.make_map(op)
        elif name.startswith("reinterpret_tensor_desc"):
            self.set(op, self.maps.get(op.operands()[0]))
        else:
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
            if name == "select" and len(names) == 3 and not all(isinstance(self.get(n), (int, type(None))) for n in names[1:]):
                condition = self.number(names[0])
                self.set(op, None if condition is None else self.get(names[1 if condition else 2]))
                return
            self.set(op, scalars.evaluate(name, op.body, [self.number(n) for n in names]))

    # -- shared memory -------------------------------------------------------------------------------------------------

    def view(self, op: Op) -> None:
        names = op.operands()
        base = self.get(names[0]) if names else None
        types = _MEMDESC.findall(op.body)
        if not isinstance(base, _Memory) or not types:
            self.set(op, None)
            return
        if op.name.endswith(("_index", "_subview")) and len(names) > 1:
            outer, inner = _size(types[:1])[0], _size(types)
            if len(outer) == len(inner[0]) and op.name.endswith("_subview"):
                step, steps = inner[1] // max(1, inner[0][0]), 2
            else:
                step, steps = inner[1], outer[0]
            index = 0 if steps == 1 else self.number(names[1])
            offset = 0 if step % ALIGNMENT == 0 else None if index is None else index * step
            total = None if base.offset is None or offset is None else base.offset + offset
            self.set(op, _Memory(total, step))
        elif op.name.endswith("_subslice"):
            self.set(op, self.slice(op, base, types))
        else:  # a transpose, a reshape: same place
            self.set(op, base)

    def slice(self, op: Op, base: _Memory, types: List[Tuple[str, str]]) -> _Memory:
        """`memdesc_subslice %m[0, 16]`: known when only the outermost dimension is cut (inner ones may be swizzled)."""
        found = re.search(r"\[([\d, ]*)\]", op.body)
        starts = [int(n) for n in found.group(1).split(",")] if found and found.group(1).strip() else []
        shape, total = _size(types[:1])
        if base.offset is None or not starts or not shape[0] or any(starts[1:]):
            return _Memory(None if any(starts) else base.offset, base.step)
        return _Memory(base.offset + starts[0] * total // shape[0], base.step)

    def copy(self, op: Op) -> None:
        store = "local_to_global" in op.name or "scatter" in op.name or "reduce" in op.name
        if not store and "global_to_local" not in op.name and "gather" not in op.name:
            self.set(op, None)  # a wait
            return
        found = re.match(r"(?:\w+, )?(%[\w.$#-]+)\s*\[[^\]]*\](?: offsets = \[[^\]]*\])?\s*(.*)", op.body)
        operands = VALUE.findall(found.group(2).partition(" : ")[0]) if found else []
        if found is None or not operands:
            self.doubt = self.doubt or "a TMA copy of unknown form"
            return
        target = self.get(operands[0])
        predicate = 1 if store or len(operands) < 3 else self.number(operands[2])
        if predicate == 0 or not _runs(self.get(found.group(1))):
            return
        if isinstance(target, _Memory) and target.offset is not None and target.offset % ALIGNMENT == 0:
            return
        types = _MEMDESC.findall(op.body)
        tile = (types[-1][0] + types[-1][1]) if types else "?"
        if not isinstance(target, _Memory) or target.offset is None or predicate is None or self.maybe:
            self.doubt = self.doubt or "a TMA copy of %s may run or may be misaligned, depending on data" % tile
            return
        raise _Found(
            "%s: TMA %s of %s, stages %d bytes apart, address in shared memory %d mod %d"
            % (self.name, "store" if store else "load", tile, target.step, target.offset % ALIGNMENT, ALIGNMENT)
        )

    # -- descriptors ---------------------------------------------------------------------------------------------------

    def make_map(self, op: Op) -> None:
        """`tensormap_create %where, %base, [box], [extents], [strides in bytes], [element strides]`."""
        head = op.body.partition(" : ")[0]
        where = VALUE.findall(head)
        lists = [VALUE.findall(part) for part in re.findall(r"\[([^\]]*)\]", head)]
        if len(where) < 2 or len(lists) < 3:
            return
        extents = [self.number(n) for n in lists[1]]
        strides = [self.number(n) for n in lists[2]]
        base = self.number(where[1])
        bad = any(n is not None and n <= 0 for n in extents) or any(s is not None and s % 16 for s in strides)
        self.maps[where[0]] = _Map(runs=not bad and not (base is not None and base % 16))

    # -- control -------------------------------------------------------------------------------------------------------

    def loop(self, op: Op) -> None:
        found = re.match(r"(?:unsigned )?(%[\w.$-]+) = (\S+) to (\S+) step (\S+)(?: iter_args\((.*?)\) ->)?", op.body)
        if found is None or not op.regions:
            self.set(op)
            return
        variable, *bounds = found.group(1, 2, 3, 4)
        pairs = re.findall(r"(%[\w.$-]+) = (%[\w.$#-]+)", found.group(5) or "")
        carried = [self.get(start) for _, start in pairs]
        names = [name for name, _ in pairs]
        low, high, step = (self.number(b) for b in bounds)
        if low is None or high is None or step is None or step <= 0:
            self.uncertain(op.regions[0], [variable, *names], [None] * (1 + len(names)))
            self.set(op)
            return
        trips = 0
        for value in range(low, high, step):
            if trips == TRIPS:
                carried = [None] * len(carried)
                break
            self.env[variable] = value
            self.env.update(zip(names, carried))
            carried = self.region(op.regions[0])
            trips += 1
        self.set(op, *carried)

    def uncertain(self, region: Region, names: List[str], values: List[Any]) -> List[Any]:
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
        """`tt.addptr %p, %i`: known modulo the alignment of allocations, as arguments are."""
        found = re.search(r": !tt\.ptr<(\w+)", op.body)
        base, offset = (self.number(n) for n in (op.operands() + ["", ""])[:2])
        size = _BYTES.get(found.group(1), 8) // 8 if found else None
        self.set(op, None if base is None or offset is None or size is None else base + offset * size)


class _Jump:
    def __init__(self, label: str, values: List[Any]) -> None:
        self.label = label
        self.values = values


def _runs(descriptor: Any) -> bool:
    if isinstance(descriptor, Descriptor):
        return not any(n is not None and n <= 0 for n in descriptor.shape)
    return descriptor.runs if isinstance(descriptor, _Map) else True


def _hand_on(program: _Program, op: Op) -> List[Any]:
    return [program.get(n) for n in op.operands()]


def _jump(program: _Program, op: Op) -> Any:
    target = re.findall(r"(\^\w+)(?:\(([^)]*)\))?", op.body)
    if op.name == "cf.cond_br":
        condition = program.number(op.operands()[0])
        if condition is None:  # go on where the kernel goes on: an early return is the exception
            program.doubt = program.doubt or "a branch depends on data"
            program.maybe += 1
            condition = 0
        target = target[:1] if condition else target[1:2]
    label, values = target[0] if target else ("", "")
    return _Jump(label, [program.get(n) for n in VALUE.findall(values.partition(" : ")[0])])


_LEAVES: Dict[str, Any] = {
    **dict.fromkeys(("scf.yield", "scf.condition", "ttg.warp_yield", "ttg.warp_return", "tt.return", "ttg.mask.return"), _hand_on),
    **dict.fromkeys(("cf.br", "cf.cond_br"), _jump),
}
_HANDLERS: Dict[str, Any] = {
    "scf.for": _Program.loop,
    "scf.if": _Program.branch,
    "scf.while": _Program.loop_while,
    "ttg.warp_specialize": _Program.specialize,
    "tt.call": _Program.call,
    "tt.addptr": _Program.pointer,
    "tt.get_program_id": lambda p, op: p.axis(op, p.program),
    "tt.get_num_programs": lambda p, op: p.axis(op, p.grid),
    "ttg.local_alloc": lambda p, op: p.set(op, _Memory(0)),
}
