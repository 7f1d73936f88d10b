"""TMA copies of a launch, followed in its TTGIR: which are executed, where in shared memory they end, and where what
their descriptors describe begins.

Bounds, predicates and stage numbers are computed by the same machine that follows the TTIR; shared memory and
descriptors are values beside its numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Sequence, Tuple

import torch

from ..static.rule import RuleFinding
from ..static.tma import ALIGNMENT, BASE, DESCRIBED, MEMDESC, tile
from ..static.ttgir import VALUE, Op
from . import module as modules
from .access import at, reach
from .launch import arguments_as_values, program_axes
from .machine import Handler, Machine, Note
from .memory import Address, Described
from .module import ACCESSES, Module, listed
from .numbers import Algebra, Lanes, Unfollowed, wrapped
from .operations import HANDLERS, access

PROGRAMS = 3
"""Program instances along each axis of the grid: those at both ends, and one in between."""
_COPY = re.compile(r"(?:\w+, )?(%[\w.$#-]+)\s*\[[^\]]*\](?: offsets = \[[^\]]*\])?\s*(.*)")
_CUT = re.compile(r"\[([\d, ]*)\]")


@dataclass(frozen=True)
class _Shared:
    """A piece of shared memory: its offset from a 128-byte boundary, and what one step of its buffer is."""

    offset: Any
    step: int = 0


@dataclass(frozen=True)
class _Map:
    """A descriptor made on the device: whether a copy through it runs, and if nobody knows what a device makes of it,
    why. `offset`: bytes from a boundary to where what it describes begins."""

    runs: bool
    why: str = ""
    offset: Any = 0


def examine(ttgir: str, grid: Tuple[int, int, int], arguments: Sequence[Any]) -> RuleFinding:
    """The first copy whose end in shared memory is not aligned, or what stayed undecided. `arguments`: as in
    `LaunchedKernel`."""
    module = modules.read(ttgir, accesses=False)
    if not module.functions:
        return RuleFinding(unknown="no kernel in the IR")
    algebra = Algebra()
    programs, _ = program_axes(grid, PROGRAMS)
    values = arguments_as_values(arguments)
    machine = Machine(module, values, grid, handlers=_handlers(module), algebra=algebra, programs=programs)
    with torch.no_grad():
        try:
            machine.run()
        except _FaultingCopy as found:
            return found.args[0]  # type: ignore[no-any-return]
        findings = [_judged(machine, note) for note in machine.notes if isinstance(note.subject, (_Map, _Shared))]
    faulting = next((found for found in findings if found.reason and not machine.hazard), None)
    doubts = (machine.hazard, machine.doubt, *(found.unknown for found in findings))
    return faulting or RuleFinding(unknown=next((doubt for doubt in doubts if doubt), ""))


class _FaultingCopy(Exception):
    """The copy that faults for sure, as a finding: there is no need to follow the rest."""


def _judged(machine: Machine, note: Note) -> RuleFinding:
    """Whether a copy runs where one of its ends is not aligned."""
    algebra, kernel = machine.algebra, next(iter(machine.module.functions))
    op, offset, mask = note.op, note.subject.offset, note.mask
    place, alignment = DESCRIBED, BASE
    if isinstance(note.subject, _Shared):
        place, alignment = "stages %d bytes apart, address in shared memory" % note.subject.step, ALIGNMENT
    dimensions, kind = MEMDESC.findall(op.body)[-1]
    bound = mask.bound if isinstance(mask, Unfollowed) else mask
    where = reach(algebra, 0, 1 if bound is None else algebra.both(bound, _off(algebra, offset, alignment)))
    if where is None:
        return RuleFinding()
    if isinstance(mask, Unfollowed) or isinstance(offset, Unfollowed):
        what = "a TMA copy of %s may run or may be misaligned, depending on data" % (dimensions + kind)
        return RuleFinding(unknown=what)
    way, residue = "store" if _is_store(op) else "load", (at(offset, where.highest) or 0) % alignment
    told = (kernel, way, dimensions + kind, place, residue, alignment)
    return RuleFinding(reason="%s: TMA %s of %s, %s %d mod %d" % told, operation=op.body)


def _off(algebra: Algebra, offset: Any, alignment: int) -> Any:
    """Where an offset is no multiple of the alignment, as far as is known."""
    if isinstance(offset, Unfollowed):
        return 1
    if isinstance(offset, int):
        return int(offset % alignment != 0)
    return Lanes(algebra.tensor(offset) % alignment != 0, 0, 1)


def _is_store(op: Op) -> bool:
    return "local_to_global" in op.name or "scatter" in op.name or "reduce" in op.name


def _allocation(machine: Machine, op: Op) -> None:
    machine.set(op, _Shared(0))


def _view(machine: Machine, op: Op) -> None:
    names = op.operands()
    base = machine.get(names[0]) if names else None
    types = MEMDESC.findall(op.body)
    if not isinstance(base, _Shared) or not types:
        machine.set(op)
    elif op.name.endswith(("_index", "_subview")) and len(names) > 1:
        (outer, _), (inner, size) = tile(types[:1]), tile(types)
        steps = outer[0]
        if len(outer) == len(inner) and op.name.endswith("_subview"):
            size, steps = size // max(1, inner[0]), 2
        index = wrapped(machine.get(names[1])) if steps > 1 and size % ALIGNMENT else 0
        machine.set(op, _Shared(_moved(machine, base.offset, index, size), size))
    elif op.name.endswith("_subslice"):
        machine.set(op, _slice(machine, op, base, types))
    else:  # a transpose, a reshape: same place
        machine.set(op, base)


def _moved(machine: Machine, offset: Any, index: Any, step: int) -> Any:
    unknown = next((value for value in (offset, index) if isinstance(value, Unfollowed)), None)
    return unknown or machine.algebra.add(offset, machine.algebra.multiply(index, step))


def _slice(machine: Machine, op: Op, base: _Shared, types: List[Tuple[str, str]]) -> _Shared:
    """`memdesc_subslice %m[0, 16]`: known when only the outermost dimension is cut (inner ones may be swizzled)."""
    found = _CUT.search(op.body)
    starts = [int(n) for n in found.group(1).split(",")] if found and found.group(1).strip() else [0]
    shape, total = tile(types[:1])
    if any(starts[1:]):
        return _Shared(Unfollowed("a part of a swizzled buffer"), base.step)
    return _Shared(_moved(machine, base.offset, starts[0], total // max(1, shape[0])), base.step)


def _copy(machine: Machine, op: Op) -> None:
    machine.set(op)
    if not _is_store(op) and "global_to_local" not in op.name and "gather" not in op.name:
        return  # a wait
    found = _COPY.match(op.body)
    operands = VALUE.findall(found.group(2).partition(" : ")[0]) if found else []
    if found is None or not operands:
        machine.doubt = machine.doubt or "a TMA copy of unknown form"
        return
    source = machine.get(found.group(1))
    if isinstance(source, Described):
        empty = any(isinstance(n, int) and n <= 0 for n in source.shape)
        source = _Map(not empty)
    target = machine.get(operands[0])
    predicate = 1 if _is_store(op) or len(operands) < 3 else machine.get(operands[2])
    if isinstance(source, _Map) and not source.runs:
        never = isinstance(predicate, int) and not predicate
        machine.doubt = machine.doubt or ("" if never else source.why)
        return
    for subject in (source, target if isinstance(target, _Shared) else _Shared(Unfollowed("another buffer"))):
        if isinstance(subject, (_Map, _Shared)):
            machine.note(op, subject, predicate)
            finding = RuleFinding() if machine.trials else _judged(machine, machine.notes[-1])
            if finding.reason:
                raise _FaultingCopy(finding)


def _make_map(machine: Machine, op: Op) -> None:
    """`tensormap_create %where, %base, [box], [extents], [strides in bytes], [element strides]`."""
    names, lists = op.operands(), listed(op)
    if len(names) < 2 or len(lists) < 3:
        return
    extents, steps = ([machine.get(name) for name in part] for part in lists[1:3])
    uneven = any(_holds(machine, value, lambda n: n % BASE != 0)[0] for value in steps)
    empty = [_holds(machine, value, lambda n: n <= 0) for value in extents]
    base, why = machine.get(names[1]), ""
    if uneven:
        why = "what a device makes of a descriptor whose stride is no multiple of %d bytes is not known" % BASE
    elif any(some for some, _ in empty) and not any(everywhere for _, everywhere in empty):
        why = "a descriptor is empty in some program instances"
    begin = wrapped(base.offset) if isinstance(base, Address) else 0
    runs = not uneven and not any(some for some, _ in empty)
    machine.define(names[0], _Map(runs, why, 0 if isinstance(begin, Unfollowed) else begin))


def _holds(machine: Machine, value: Any, test: Callable[[Any], Any]) -> Tuple[bool, bool]:
    """Whether that is so in some lane, and in all; of what is not known, in none."""
    value = wrapped(value)
    if isinstance(value, (int, Unfollowed)):
        known = isinstance(value, int) and bool(test(value))
        return known, known
    found = test(machine.algebra.tensor(value))
    return bool(found.any()), bool(found.all())


def _made(machine: Machine, op: Op) -> None:
    machine.set(op, machine.get(op.operands()[0]))


def _specialize(machine: Machine, op: Op) -> None:
    """All partitions run; each sees what is captured under names of its own."""
    captured = [machine.get(name) for name in op.operands()]
    handed: List[Any] = []
    for region in op.regions:
        outer = dict(machine.frame.env)
        if region.head.startswith("partition"):
            for name, value in zip(region.blocks[0].args, captured):
                machine.define(name, value)
        yielded = machine.region(region)
        machine.frame.env = outer
        handed = yielded if region.head == "default" else handed
    machine.set(op, *handed)


def _loaded(machine: Machine, op: Op) -> None:
    if machine.is_needed(op):
        access(machine, op)


def _handlers(module: Module) -> Dict[str, Handler]:
    names = {op.name for function in module.functions.values() for op in function.all}
    return {**_HANDLERS, **{name: handle for name in names for part, handle in _BY_PART.items() if part in name}}


_HANDLERS: Dict[str, Handler] = {
    **HANDLERS,
    **dict.fromkeys(ACCESSES, _loaded),
    "ttg.local_alloc": _allocation,
    "ttg.warp_specialize": _specialize,
}
_BY_PART: Dict[str, Handler] = {
    "async_tma_": _copy,
    ".memdesc_": _view,
    "tensormap_create": _make_map,
    "reinterpret_tensor_desc": _made,
}
"""By a part of its name, which differs between releases, what an operation does."""
