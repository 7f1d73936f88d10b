"""Which program instance touches which bytes of a tensor in a launch, and how: by loads, stores, atomic operations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, List, Optional, Sequence, Tuple

import torch

from ..static.ttgir import Op
from .access import Lane, factors, unravel
from .launch import LaunchedKernel, left
from .machine import PROGRAM_AXES, Machine, Note
from .memory import Address, Buffer
from .module import ACCESSES, DESCRIBED
from .numbers import LIMIT, Lanes, Number, Sum, Unfollowed, broadcast, elements, wrapped
from .types import extents, pointee, signature

LOAD, ATOMIC, STORE = "load", "atomic", "store"
EVERYWHERE = torch.tensor(1 << 58)
"""Beyond all memory."""


def kind_of(op: Op) -> str:
    """What an access does; an atomic addition by a copy is one, too."""
    name = op.name.rpartition(".")[2]
    if "load" in name or "gather" in name:
        return LOAD
    return ATOMIC if "atomic" in name or "reduce" in name else STORE


@dataclass(frozen=True, eq=False)
class Touch:
    """One access to a tensor, each time that the machine met it. `offset`: in bytes from the start of the storage; None
    where nobody knows. `mask`: where it happens; where `doubt` says why that is not known, at most there."""

    note: Note
    buffer: Buffer
    kind: str
    offset: Optional[Number]
    mask: Number
    doubt: str

    @property
    def rank(self) -> int:
        return len(extents(signature(self.note.op.body)))

    @property
    def width(self) -> int:
        """Bytes of an element."""
        target = pointee(signature(self.note.op.body))
        return target[1] if target else 1

    @property
    def tensors(self) -> List[Any]:
        """All that its lanes hang on: of the offset, and of the mask."""
        return [*self._terms, *self._factors]

    @property
    def _terms(self) -> List[Any]:
        if isinstance(self.offset, Sum):
            return [term.data for term in self.offset.terms]
        return [self.offset.data] if isinstance(self.offset, Lanes) else []

    @property
    def _factors(self) -> List[Any]:
        return [] if isinstance(self.mask, int) else [factor.data for factor in factors(self.mask)]

    @property
    def _constant(self) -> int:
        return self.offset if isinstance(self.offset, int) else getattr(self.offset, "constant", 0)


def touches(launch: LaunchedKernel, machine: Machine) -> Tuple[List[Touch], List[Note]]:
    """The accesses of a launch to its tensors, and those to nobody knows what."""
    found: List[Touch] = []
    elsewhere: List[Note] = []
    for note in left(launch, machine):
        mask: Any = note.mask
        doubt = ""
        if isinstance(mask, Unfollowed):
            doubt, mask = mask.why, 1 if mask.bound is None else mask.bound
        if note.op.name not in ACCESSES and note.op.name not in DESCRIBED or isinstance(mask, int) and not mask:
            continue
        if not isinstance(note.subject, Address):
            elsewhere.append(note)
            continue
        offset, buffer = wrapped(note.subject.offset), note.subject.buffer
        if isinstance(offset, Unfollowed):
            found.append(Touch(note, buffer, kind_of(note.op), None, mask, offset.why))
        elif not buffer.null:
            found.append(Touch(note, buffer, kind_of(note.op), offset, mask, doubt))
    return found, elsewhere


@dataclass(frozen=True)
class Programs:
    """The program instances of a launch that are looked at: so many along each axis, of the indices that were run."""

    x: int
    y: int
    z: int

    @classmethod
    def of(cls, machine: Machine) -> "Programs":
        return cls(*(1 if isinstance(each, int) else int(each.data.numel()) for each in machine.programs))

    @property
    def count(self) -> int:
        return self.x * self.y * self.z

    @property
    def shape(self) -> Tuple[int, int, int]:
        """As the axes of tensors have them."""
        return self.z, self.y, self.x

    def indices(self, machine: Machine, number: int) -> Tuple[int, int, int]:
        """The program ids of one of them."""
        places = number % self.x, number // self.x % self.y, number // (self.x * self.y)
        found = (
            each if isinstance(each, int) else int(each.data.reshape(-1)[at])
            for each, at in zip(machine.programs, places)
        )
        x, y, z = found
        return x, y, z

    def narrow(self, data: Any, rank: int) -> Any:
        """The lanes of these alone, in a tensor before whose block of `rank` dimensions the program's axes lie."""
        for axis, count in enumerate((self.x, self.y, self.z), start=rank + 1):
            if data.dim() >= axis and data.shape[-axis] > count:
                data = data.narrow(data.dim() - axis, 0, count)
        return data

    def fewer(self) -> "Programs":
        """Half of them, along the longest axis."""
        axes = [self.x, self.y, self.z]
        axes[axes.index(max(axes))] //= 2
        return Programs(*axes)


def lanes(touch: Touch, programs: Programs) -> int:
    """Lanes of an access, of these program instances."""
    shapes = [programs.narrow(each, touch.rank).shape for each in touch.tensors]
    return elements(broadcast([*shapes, (*programs.shape, *(1,) * touch.rank)]))


def places(touch: Touch, programs: Programs) -> Tuple[Any, Any]:
    """Offset, in bytes, and number of the program instance of each lane that touches memory."""
    offset, number, holds = _spread(touch, programs)
    return offset[holds], number[holds]


def lane_of(touch: Touch, programs: Programs, program: int, byte: int) -> Lane:
    """One lane in which a program instance touches a byte."""
    offset, number, holds = _spread(touch, programs)
    there = holds & (number == program) & (offset <= byte) & (byte < offset + touch.width)
    return unravel(int(there.reshape(-1).to(torch.int8).argmax()), there.shape)


def _spread(touch: Touch, programs: Programs) -> Tuple[Any, Any, Any]:
    """Of each lane the offset, the number of the program instance, and whether it touches memory."""
    rank = touch.rank
    narrowed = [programs.narrow(each, rank) for each in touch.tensors]
    terms, masks = narrowed[: len(touch._terms)], narrowed[len(touch._terms) :]
    number = torch.arange(programs.count).reshape(*programs.shape, *(1,) * rank)
    shape = broadcast([*(each.shape for each in narrowed), number.shape])
    offset = torch.full((), touch._constant, dtype=torch.int64)
    for term in terms:
        offset = offset + term.to(torch.int64)
    holds = torch.ones((), dtype=torch.bool)
    for mask in masks:
        holds = holds & mask
    return offset.expand(shape), number.expand(shape), holds.expand(shape)


def are_apart(found: Sequence[Touch], programs: Programs) -> bool:
    """Whether each program instance keeps to a range of bytes of its own, for sure."""
    if programs.count > LIMIT or any(each.offset is None for each in found):
        return False
    lows = EVERYWHERE.expand(programs.shape)
    highs = -lows
    for each in found:
        low, high, active = _range(each, programs)
        lows = torch.where(active, torch.minimum(lows, low), lows)
        highs = torch.where(active, torch.maximum(highs, high + each.width), highs)
    order = lows.reshape(-1).argsort()
    begin, end = lows.reshape(-1)[order], highs.reshape(-1)[order].cummax(0).values
    return bool((begin[1:] >= end[:-1]).all())


def _range(touch: Touch, programs: Programs) -> Tuple[Any, Any, Any]:
    """The least and the greatest offset of each program instance, as far as one part of the mask limits one part of the
    offset, and whether it touches any."""

    def over_lanes(data: Any, fold: Any) -> Any:
        lead = max(data.dim(), touch.rank + PROGRAM_AXES) - touch.rank - PROGRAM_AXES
        data = data.reshape((1,) * (lead + PROGRAM_AXES + touch.rank - data.dim()) + tuple(data.shape))
        own = (*range(lead), *range(data.dim() - touch.rank, data.dim()))
        return (fold(data, own) if own else data).expand(programs.shape)

    low = high = torch.full(programs.shape, touch._constant)
    for term in touch._terms:
        least = greatest = term.to(torch.int64)
        for factor in touch._factors:
            if broadcast((term.shape, factor.shape)) == tuple(term.shape):
                least, greatest = least.where(factor, EVERYWHERE), greatest.where(factor, -EVERYWHERE)
        low, high = low + over_lanes(least, torch.amin), high + over_lanes(greatest, torch.amax)
    active = torch.ones(programs.shape, dtype=torch.bool)
    for factor in touch._factors:
        active = active & over_lanes(factor, torch.amax)
    return low, high, active
