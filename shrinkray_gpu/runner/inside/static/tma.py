"""The static rule `static:tma-alignment`: does this launch execute a TMA copy whose end in shared memory is not
128-byte aligned?

The mechanism of Triton issue 10474: a pipelined loop keeps its stages in one shared buffer, tile-size apart. A tile of
16, 32 or 64 bytes puts stage 1 at 16, 32 or 64 modulo 128, which the hardware refuses. A copy counts only if it runs:
so the kernel's scalar code (bounds, predicates, stage numbers) is executed here on the launch's arguments, for
the first and the last program of the grid. What depends on data in memory is unknown; unknown is not a fault, and is
told apart in `RuleFinding.unknown`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple

from .kernel_program import Descriptor, Endless, KernelProgram, OutOfFuel
from .rule import LaunchFacts, Rule, RuleFinding
from .ttgir import VALUE, Op, bits, parse

ALIGNMENT = 128


@dataclass(frozen=True)
class _Memory:
    """A piece of shared memory: its offset from a 128-byte boundary, None if not known; and what one step of its
    buffer is."""

    offset: Optional[int]
    step: int = 0


@dataclass(frozen=True)
class _Map:
    """A descriptor made on the device: whether a copy through it runs, and if it faults in another way, why."""

    runs: bool
    why: str = ""


class _FaultingCopy(Exception):
    """The copy that faults: what is wrong with it, and its text."""


def faulting_copy(ttgir: str, grid: Sequence[int], args: Sequence[Any]) -> str:
    """One line that names the faulting copy, or the empty string.

    `args` as in `rule.LaunchFacts`.
    """
    return examine(ttgir, grid, args).reason


def examine(ttgir: str, grid: Sequence[int], args: Sequence[Any]) -> RuleFinding:
    """As `faulting_copy`, and says what stayed undecided."""
    if not _suspect(ttgir):
        return RuleFinding()
    sizes = (tuple(grid) + (1, 1, 1))[:3]
    if 0 in sizes:
        return RuleFinding()
    functions = parse(ttgir)
    if not functions:
        return RuleFinding(unknown="no kernel in the IR")
    unknown = ""
    programs = [(0, 0, 0), tuple(n - 1 for n in sizes)]
    for program in programs[: 1 if programs[0] == programs[1] else 2]:
        run = _Copies(functions, program, sizes)
        try:
            run.start(args)
        except _FaultingCopy as found:
            return RuleFinding(reason=found.args[0], operation=found.args[1])
        except Endless as found:
            return RuleFinding(unknown=str(found))
        except OutOfFuel:
            unknown = unknown or "the kernel runs too long to follow"
        unknown = unknown or run.doubt
    return RuleFinding(unknown=unknown)


_COPY = re.compile(r"ttng\.async_tma_(?:copy|gather|scatter|reduce)[^\n]*")
_MEMDESC = re.compile(r"!ttg\.memdesc<((?:\d+x)*)([a-z]\w*)")


def _suspect(text: str) -> bool:
    """Cheap: is there a copy of a tile whose size is no multiple of the alignment, or of part of a buffer?"""
    copies = _COPY.findall(text)
    parts = "memdesc_subslice" in text or "memdesc_subview" in text
    return any(parts or _size(found)[1] % ALIGNMENT for line in copies for found in [_MEMDESC.findall(line)] if found)


def _size(memdescs: List[Tuple[str, str]]) -> Tuple[List[int], int]:
    """Shape and bytes of the last memory descriptor named."""
    dims, kind = memdescs[-1]
    shape = [int(n) for n in dims.split("x") if n]
    total = bits(kind)
    for n in shape:
        total *= n
    return shape, total // 8


class _Copies(KernelProgram):
    """A program whose shared memory and descriptors are followed too."""

    def __init__(self, functions: Dict[str, Op], program: Tuple[int, ...], grid: Tuple[int, ...]) -> None:
        super().__init__(functions, program, grid)
        self.maps: Dict[str, _Map] = {}

    def other(self, op: Op, name: str) -> None:
        if op.name == "ttg.local_alloc":
            self.set(op, _Memory(0))
        elif name.startswith("async_tma_"):
            self.copy(op)
        elif name.startswith("memdesc_"):
            self.view(op)
        elif "tensormap_create" in name:
            self.make_map(op)
        elif name.startswith("reinterpret_tensor_desc"):
            self.set(op, self.maps.get(op.operands()[0]))
        else:
            self.set(op, None)

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
        source = self.get(found.group(1))
        if predicate == 0:
            return
        if not _runs(source):
            self.doubt = self.doubt or getattr(source, "why", "")
            return
        if isinstance(target, _Memory) and target.offset is not None and target.offset % ALIGNMENT == 0:
            return
        types = _MEMDESC.findall(op.body)
        tile = (types[-1][0] + types[-1][1]) if types else "?"
        if not isinstance(target, _Memory) or target.offset is None or predicate is None or self.maybe:
            self.doubt = self.doubt or "a TMA copy of %s may run or may be misaligned, depending on data" % tile
            return
        raise _FaultingCopy(
            "%s: TMA %s of %s, stages %d bytes apart, address in shared memory %d mod %d"
            % (self.name, "store" if store else "load", tile, target.step, target.offset % ALIGNMENT, ALIGNMENT),
            op.body,
        )

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
        empty = any(n is not None and n <= 0 for n in extents)
        uneven = any(n is not None and n % 16 for n in (base, *strides))
        why = "a descriptor whose base or stride is no multiple of 16 bytes faults in another way" if uneven else ""
        self.maps[where[0]] = _Map(not empty and not uneven, why)


def _runs(descriptor: Any) -> bool:
    if isinstance(descriptor, Descriptor):
        return not any(n is not None and n <= 0 for n in descriptor.shape)
    return descriptor.runs if isinstance(descriptor, _Map) else True


def _of_launch(launch: LaunchFacts) -> RuleFinding:
    """Where something else is wrong in the launch, nobody knows which fault a device would see first."""
    found = examine(launch.ttgir, launch.grid, launch.args)
    own = launch.evaluation().own_fault if found.reason else ""
    return RuleFinding(unknown=own) if own else found


RULE = Rule(
    name="tma-alignment",
    code=716,  # CUDA_ERROR_MISALIGNED_ADDRESS
    words="misaligned address",
    holds="a TMA copy is executed, its place in shared memory is not 128-byte aligned, and the host waits",
    wanted="TMA needs a multiple of %d" % ALIGNMENT,
    examine=_of_launch,
    instructions=(("TMA load ", "UTMALDG"), ("TMA store ", "UTMASTG")),
)
