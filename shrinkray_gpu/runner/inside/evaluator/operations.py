"""What the operations of Triton's IR mean that touch memory or start a value: accesses, pointers, program numbers."""

from __future__ import annotations

import functools
import re
from typing import Any, Callable, Container, Dict, Tuple

import torch

from ..static.ttgir import Op
from . import integers, loops, shapes
from .atomics import ORDER, given_back, hangs_on_order
from .machine import Machine
from .memory import Address, BlockPointer, Described
from .module import ACCESSES, DESCRIBED, MAKES_BLOCK, MAKES_DESCRIPTOR, listed
from .numbers import Lanes, Number, Pair, TooLarge, Unfollowed, exact, pair, wrapped
from .types import extents, pointee, signature

_CHECKED = re.compile(r"boundaryCheck = array<i32: ([\d, ]+)>")


def access(machine: Machine, op: Op) -> None:
    names = op.operands()
    at = ACCESSES[op.name]
    masked = len(names) > at
    mask = machine.get(names[at]) if masked else 1
    address = machine.get(names[0])
    if isinstance(address, BlockPointer):
        checked = _CHECKED.search(op.body)
        masked = checked is not None
        dimensions = [int(n) for n in checked.group(1).split(",")] if checked else []
        address, mask = _clipped(machine, op, address, dimensions)
    try:
        machine.note(op, address, mask, masked)
    except TooLarge:
        machine.note(op, Unfollowed("too many lanes"))
    if not machine.is_needed(op):
        return
    if op.name == "tt.atomic_cas":
        machine.set(op, Unfollowed("an atomic operation gives it"))
        return
    other = machine.get(names[2]) if len(names) > 2 else 0
    try:
        loads = op.name == "tt.load"
        found = _loaded(machine, op, address, wrapped(mask), other) if loads else given_back(machine, op, address)
        machine.set(op, found)
    except TooLarge:
        machine.set(op, Unfollowed("too many lanes"))


def _loaded(machine: Machine, op: Op, address: Any, mask: Any, other: Any) -> Any:
    if not isinstance(address, Address):
        return Unfollowed(address.why if isinstance(address, Unfollowed) else "a load through another pointer")
    target = pointee(signature(op.body))
    offset = wrapped(address.offset)
    if target is None or isinstance(offset, Unfollowed):
        return Unfollowed(offset.why if isinstance(offset, Unfollowed) else "a load of an unknown type")
    if machine.written is None or address.buffer.parameter in machine.written:
        return Unfollowed("the kernel writes what it loads")
    kind, width = target
    held = address.buffer.integers(kind)
    if isinstance(held, Unfollowed):
        return held
    lanes = machine.algebra.lanes(offset)
    data = torch.tensor(lanes) if isinstance(lanes, int) else lanes.data
    machine.algebra.check([data.shape])
    if not len(held):
        return Unfollowed("it is loaded from an empty tensor")
    index = torch.div(data, width, rounding_mode="floor").to(torch.int64)
    value = held[index.clamp(0, len(held) - 1)].to(torch.int64)
    found: Any = Lanes(value, 0, 0).tighten()
    if not data.dim():
        found = int(value)
    if kind == "i1" and not isinstance(found, int):
        found = Lanes(value != 0, 0, 1)
    where = mask.bound if isinstance(mask, Unfollowed) else mask
    if where is None or isinstance(other, (Unfollowed, Address)):
        return found
    return machine.choose_lanes(where, found, other)


def _clipped(machine: Machine, op: Op, pointer: BlockPointer, checked: Container[int]) -> Tuple[Any, Any]:
    target = pointee(signature(op.body))
    if target is None:
        return Unfollowed("a block of an unknown type"), 1
    try:
        return shapes.block_access(machine.algebra, pointer, target[1], checked)
    except TooLarge:
        return Unfollowed("too many lanes"), 1


def described_access(machine: Machine, op: Op, *, always: bool = False) -> None:
    """`tt.descriptor_load %descriptor[%offsets]`: clipped to what is described, and noted `always`, or where that is
    not all inside of the storage."""
    machine.set(op, Unfollowed("a copy by a descriptor decides"))
    described = machine.get(op.operands()[0])
    if not isinstance(described, Described) or described.buffer is None:
        machine.note(op, Unfollowed("a copy through an unknown descriptor"))
    elif described.buffer.null:
        machine.note(op, Address(described.buffer, 0))
    elif always or not described.is_inside:
        if described.is_inside is False:
            machine.hazard = machine.hazard or "a descriptor describes more than its tensor holds"
        machine.note(op, *_described_block(machine, op, described))


def _described_block(machine: Machine, op: Op, described: Described) -> Tuple[Any, Any]:
    """The address and the mask of one copy."""
    places = [machine.get(name) for names in listed(op)[:1] for name in names]
    block = extents(signature(op.body))
    if not len(places) == len(block) == len(described.shape) or op.name.endswith(("gather", "scatter")):
        return Unfollowed("a copy of another shape"), 1
    assert described.buffer is not None
    start = described.buffer.at if described.start is None else described.start
    pointer = BlockPointer(Address(described.buffer, start), described.shape, described.strides, places, block)
    return _clipped(machine, op, pointer, range(len(block)))


def describe(machine: Machine, op: Op) -> None:
    """`tt.make_tensor_descriptor %base, [extents], [strides]`."""
    lists = listed(op)
    base = machine.get(op.operands()[0])
    if len(lists) < 2 or not isinstance(base, Address):
        machine.set(op, Unfollowed("a descriptor of an unknown pointer"))
        return
    shape, strides = ([machine.get(name) for name in part] for part in lists[:2])
    target = pointee(signature(op.body))
    width = target[1] if target else None
    machine.set(op, Described(base.buffer, tuple(shape), tuple(strides), width, base.offset))


def block_pointer(machine: Machine, op: Op) -> None:
    """`tt.make_tensor_ptr %base, [extents], [strides], [offsets]`."""
    lists = listed(op)
    base = machine.get(op.operands()[0])
    if len(lists) < 3:
        machine.set(op, Unfollowed("a block pointer"))
        return
    shape, strides, offsets = ([machine.get(name) for name in part] for part in lists[:3])
    machine.set(op, BlockPointer(base, shape, strides, offsets, extents(signature(op.body))))


def advance(machine: Machine, op: Op) -> None:
    """`tt.advance %pointer, [steps]`."""
    names = op.operands()
    pointer = machine.get(names[0])
    if not isinstance(pointer, BlockPointer):
        machine.set(op, pointer if isinstance(pointer, Unfollowed) else Unfollowed("a block pointer"))
        return
    steps = [machine.get(name) for name in names[1:]]
    offsets = [
        integers.evaluate(machine.algebra, "addi", "%a, %b : i32", [offset, step])
        for offset, step in zip(pointer.offsets, steps)
    ]
    machine.set(op, BlockPointer(pointer.base, pointer.shape, pointer.strides, offsets, pointer.block))


def offset_pointer(machine: Machine, op: Op) -> None:
    """`tt.addptr %pointer, %elements`."""
    if not machine.is_needed(op):
        return
    names = op.operands()
    pointer, steps = machine.get(names[0]), machine.get(names[1])
    target = pointee(signature(op.body))
    if not isinstance(pointer, Address) or target is None:
        machine.set(op, pointer if isinstance(pointer, Unfollowed) else Unfollowed("a pointer of an unknown type"))
    elif isinstance(steps, Unfollowed) or isinstance(pointer.offset, Unfollowed):
        why = steps if isinstance(steps, Unfollowed) else pointer.offset
        machine.set(op, Address(pointer.buffer, Unfollowed(why.why)))
    else:
        try:
            machine.set(op, Address(pointer.buffer, _moved(machine, pointer.offset, steps, target[1])))
        except TooLarge:
            machine.set(op, Address(pointer.buffer, Unfollowed("too many lanes")))


def _moved(machine: Machine, offset: Any, steps: Any, width: int) -> Any:
    def moved(view: Callable[[Any], Any]) -> Number:
        return machine.algebra.add(view(offset), machine.algebra.multiply(view(steps), width))

    as_computed = moved(wrapped)
    both = isinstance(offset, Pair) or isinstance(steps, Pair)
    return pair(as_computed, moved(exact)) if both else as_computed


def program_id(machine: Machine, op: Op) -> None:
    axis = "xyz".index(op.body[:1])
    machine.set(op, machine.programs[axis])


def program_count(machine: Machine, op: Op) -> None:
    machine.set(op, machine.grid["xyz".index(op.body[:1])])


def fold(machine: Machine, op: Op) -> None:
    """`tt.reduce`, `tt.scan`: of one block of integers."""
    if not machine.is_needed(op):
        return
    operands = [machine.get(name) for name in op.operands()]
    value: Any = operands[0] if len(operands) == 1 and op.regions else Unfollowed(op.name)
    if not isinstance(value, (Unfollowed, Address)):
        block = extents(op.tail.rpartition(" : ")[2].partition(" -> ")[0])
        combination = machine.module.combination(op.regions[0])
        try:
            if hangs_on_order(machine, value, len(block)):
                value = Unfollowed(ORDER)
            else:
                value = shapes.folded(machine.algebra, op, value, combination, block, op.name == "tt.scan")
        except TooLarge:
            value = Unfollowed("too many lanes")
    machine.set(op, value if not isinstance(value, Address) else Unfollowed(op.name))


def assertion(machine: Machine, op: Op) -> None:
    machine.note(op, machine.get(op.operands()[0]))


HANDLERS: Dict[str, Callable[[Machine, Op], None]] = {
    **dict.fromkeys(ACCESSES, access),
    **dict.fromkeys(DESCRIBED, described_access),
    "scf.for": loops.run_for,
    "scf.while": loops.run_while,
    "scf.if": Machine.branch,
    "tt.call": Machine.call,
    "tt.addptr": offset_pointer,
    MAKES_DESCRIPTOR: describe,
    MAKES_BLOCK: block_pointer,
    "tt.advance": advance,
    "tt.get_program_id": program_id,
    "tt.get_num_programs": program_count,
    "tt.assert": assertion,
    "tt.reduce": fold,
    "tt.scan": fold,
}
NOTING_ALL: Dict[str, Callable[[Machine, Op], None]] = {
    **HANDLERS,
    **dict.fromkeys(DESCRIBED, functools.partial(described_access, always=True)),
}
"""Copies by a descriptor are noted as well where they stay inside."""
