"""Whether each access begins where the hardware lets one of its width begin, and if not, which claim is untrue.

A thread that holds several neighbouring elements reaches them by one instruction, where the compiler takes the first
one's address for a multiple of all their bytes. It takes that from hints (`tl.multiple_of`, `tl.max_contiguous`) and
from the arguments that it compiled the kernel for.
"""

from __future__ import annotations

import functools
import math
import os
import re
from dataclasses import dataclass
from typing import Any, FrozenSet, Iterator, List, Optional, Tuple

import torch

from ..static import cause as kinds
from ..static import locations
from ..static.cause import Cause, Evaluation
from ..static.ttgir import Op, bits
from . import shapes
from .access import Lane, at, can_be_false, reach
from .causes import place_of
from .instructions import widest, widths
from .launch import LaunchedKernel, first_program, left, look
from .machine import Note
from .memory import Address, Buffer
from .module import ACCESSES, family
from .numbers import ALL, Algebra, Lanes, Number, Sum, TooLarge, Unfollowed, wrapped
from .trace import FACTOR, TERM, Step, Trace, inputs_of
from .types import extents, pointee, signature

_CLAIM = re.compile(r"tt\.(divisibility|contiguity) = dense<\[?([\d, ]+)\]?>")
_ORDER = re.compile(r"^(#\w+) = #ttg\.blocked<.*?\border = \[(\d+)", re.M)
_LAYOUT = re.compile(r"tensor<[^,<]*!tt\.ptr<\w+>, (#\w+)>")
_ELEMENTS = re.compile(r"!tt\.ptr<([a-z]\w*)")
_CAST = re.compile(r"tt\.bitcast [^\n]*!tt\.ptr|tt\.int_to_ptr")


class _Misaligned:
    """An access that begins where it may not: in which lane, at which byte of the storage, and of how many bytes."""

    def __init__(self, note: Note, lane: Lane, width: int, axis: int, first: bool) -> None:
        self.note, self.lane, self.width, self.axis, self.first = note, lane, width, axis, first
        self.offset = at(wrapped(note.subject.offset), lane) or 0


def evaluate(launch: LaunchedKernel, ttgir: str, llir: str) -> Evaluation:
    """The accesses of a launch that are not aligned, and why that may not be all."""
    if _is_narrow(launch, widest(llir)):
        return Evaluation()
    seen = look(launch)
    known = widths(llir)
    causes: List[Cause] = []
    unknown = seen.machine.doubt or ("" if seen.whole else "a part of its program instances was looked at")
    told = set()
    with torch.no_grad():
        for note in left(launch, seen.machine):
            if note.op.name not in ACCESSES:
                continue
            place = locations.of_place(launch.raw, note.op.place)
            taken = known.get((os.path.basename(place[0]), *place[1:]), frozenset()) if place else frozenset()
            try:
                found, why = _judged(launch, ttgir, note, taken)
            except TooLarge:
                found, why = None, "too many lanes"
            unknown = unknown or (why and "%s: %s" % (note.op.name, why))
            if found is not None and id(note.op) not in told:
                told.add(id(note.op))
                causes.append(_cause(launch, found))
    return Evaluation(tuple(causes), unknown)


def _is_narrow(launch: LaunchedKernel, width: int) -> bool:
    """Whether no instruction is wider than an element, and all tensors begin at one: then nothing needs following."""
    elements = [bits(kind) // 8 for kind in _ELEMENTS.findall(launch.raw)]
    starts = [value.at for value in launch.arguments if isinstance(value, Buffer)]
    whole = not _CAST.search(launch.raw) and not any(start % max(elements, default=1) for start in starts)
    return whole and 0 < width <= min(elements, default=0)


def _judged(launch: LaunchedKernel, ttgir: str, note: Note, taken: FrozenSet[int]) -> Tuple[Optional[_Misaligned], str]:
    """What is wrong with one access, or why nobody knows."""
    address, mask = note.subject, note.mask
    target = pointee(signature(note.op.body))
    if isinstance(mask, int) and not mask:
        return None, ""
    if not isinstance(address, Address) or target is None:
        return None, getattr(address, "why", "") or "an access by something else than a pointer"
    if not taken:
        return None, "no instruction is known for it"
    element, offset = target[1], wrapped(address.offset)
    if isinstance(offset, Unfollowed):
        steady = max(taken) <= element and address.buffer.at % element == 0 and not _CAST.search(launch.raw)
        return None, "" if steady else offset.why
    for width in sorted(taken):
        found, why = _begins(launch, ttgir, note, width, max(1, width // element))
        if found is not None and width > min(taken):
            found, why = None, "its instructions differ in width"
        if found is not None or why:
            return found, why
    return None, ""


def _begins(
    launch: LaunchedKernel, ttgir: str, note: Note, width: int, count: int
) -> Tuple[Optional[_Misaligned], str]:
    """Whether an instruction of so many bytes, and elements, begins off a multiple of them."""
    rank = len(extents(signature(note.op.body)))
    offset, mask = wrapped(note.subject.offset), note.mask
    if _all_multiples(offset, width):
        return None, ""
    axis = _axis(launch, ttgir, note.op, rank) if count > 1 else 1
    if axis is None:
        return None, "a layout whose order is not known"
    heads = functools.partial(_heads, axis, count)
    offset, mask = shapes.mapped(offset, heads), shapes.mapped(mask, heads)
    if _all_multiples(offset, width):
        return None, ""
    algebra = Algebra()
    bound = mask.bound if isinstance(mask, Unfollowed) else mask
    off = Lanes(algebra.tensor(offset) % width != 0, 0, 1)
    bad = algebra.both(1 if bound is None else bound, off)
    reached = reach(algebra, 0, bad)
    if reached is None:
        return None, ""
    if isinstance(mask, Unfollowed):
        return None, mask.why
    lane = {each: place * (count if each == axis else 1) for each, place in reached.highest.items()}
    at_once = shapes.mapped(bad, functools.partial(first_program, rank))
    return _Misaligned(note, lane, width, axis, reach(Algebra(ALL), 0, at_once) is not None), ""


def _all_multiples(value: Number, width: int) -> bool:
    """Whether each part of a number is a multiple, so that all lanes are."""
    if isinstance(value, int):
        return value % width == 0
    parts = value.terms if isinstance(value, Sum) else (value,)
    constant = value.constant if isinstance(value, Sum) else 0
    return constant % width == 0 and all(bool((part.data % width == 0).all()) for part in parts)  # type: ignore[union-attr]


def _heads(axis: int, count: int, data: Any) -> Any:
    """The first element of each instruction."""
    if count == 1 or data.dim() < axis or data.shape[-axis] == 1:
        return data
    whole = (slice(None),) * (axis - 1)
    return data[(Ellipsis, slice(None, None, count)) + whole]


def _axis(launch: LaunchedKernel, ttgir: str, op: Op, rank: int) -> Optional[int]:
    """Along which axis, counted from the right, an instruction takes neighbours."""
    if rank <= 1:
        return 1
    place = locations.of_place(launch.raw, op.place)
    orders = dict(_ORDER.findall(ttgir))
    found = {orders.get(layout) for layout, here in _layouts(ttgir) if here == place}
    first = found.pop() if len(found) == 1 else None
    return None if first is None else rank - int(first)


@functools.lru_cache(maxsize=16)
def _layouts(ttgir: str) -> Tuple[Tuple[str, Any], ...]:
    """Of each operation on a block of pointers its layout, and its place in the source."""
    out = []
    for line in ttgir.splitlines():
        found, at_ = _LAYOUT.findall(line), re.search(r"loc\((#loc\d*)\)$", line)
        if found and at_ and re.search(r"= tt\.load|tt\.store|tt\.atomic|async_copy_global", line):
            out.append((found[0], locations.of_place(ttgir, at_.group(1))))
    return tuple(out)


@dataclass(frozen=True)
class _Promise:
    """That a value is a multiple of `multiple`, which it is not. `kind`: who says so."""

    kind: str
    step: Step
    multiple: int
    value: int


def _promises(found: _Misaligned, step: Step) -> Iterator[_Promise]:
    """What is claimed of one value, as it is where the access is not aligned."""
    value = step.value(found.lane)
    if value is None:
        return
    said = re.search(r"%s: [^,{]*\{[^}]*tt\.divisibility = (\d+)" % re.escape(step.name), step.function.op.body)
    if step.kind == kinds.ARGUMENT and said:
        yield _Promise(kinds.SPECIALISED, step, int(said.group(1)), value[0])
    if step.op is not None and "tt.divisibility" in step.op.body:
        claims = {word: max(int(n) for n in numbers.split(",")) for word, numbers in _CLAIM.findall(step.op.body)}
        run = found.lane.get(found.axis, 0) % claims.get("contiguity", 1)  # from the element that it is claimed of
        yield _Promise(kinds.HINT, step, math.gcd(claims.get("divisibility", 1), run), value[0])


def _cause(launch: LaunchedKernel, found: _Misaligned) -> Cause:
    note, op = found.note, found.note.op
    trace = Trace(note.frame, note.env, op)
    steps = [step for step in trace.steps if step.role in (TERM, FACTOR)]
    claims = [claim for step in steps for claim in _promises(found, step)]
    untrue = next((claim for claim in claims if claim.value % claim.multiple), None)
    place = at_ = place_of(launch, op)
    element = pointee(signature(op.body))
    inputs, role, operation = inputs_of(steps), TERM, ""
    if element is not None and found.offset % element[1]:
        kind, what = kinds.ELEMENT, "the address lies between two elements"
    elif untrue is not None:
        kind, role = untrue.kind, untrue.step.role
        operation = "pointer" if isinstance(untrue.step.env.get(untrue.step.name), Address) else "integer"
        place = place_of(launch, untrue.step.op) or place
        if kind == kinds.SPECIALISED:
            what = "the kernel was compiled for %s as a multiple of %d, and it is %d"
            what %= (untrue.step.name.lstrip("%"), untrue.multiple, untrue.value)
        else:
            what = "a value (%s) is said to be a multiple of %d, and is %d" % (place, untrue.multiple, untrue.value)
        inputs = {kinds.ARGUMENT} if kind == kinds.SPECIALISED else inputs_of(trace.below(untrue.step))
        steps = steps if kind == kinds.SPECIALISED else trace.below(untrue.step)
    else:
        kind, what = kinds.UNCLAIMED, "no claim about the address is untrue, and yet it is taken for a multiple"
    return Cause(
        kinds.ALIGNMENT,
        kind,
        operation,
        role,
        tuple(sorted(inputs)),
        family(op),
        note.masked and can_be_false(note),
        exact=True,
        far=kinds.ANYWHERE,
        first=found.first,
        always=False,
        detail="",
        place=place,
        at=at_,
        sentence="%s; the %s at %s takes %d bytes at byte %d" % (what, family(op), at_, found.width, found.offset),
        parameters=tuple(sorted({step.name.lstrip("%") for step in steps if step.kind == kinds.ARGUMENT})),
    )
