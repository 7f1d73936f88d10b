"""Loads from memory that nobody wrote to: neither the host since `torch.empty`, nor a kernel, nor this one itself."""

from __future__ import annotations

import functools
from typing import Dict, Tuple

import torch

from ..static import cause as kinds
from ..static.cause import Cause, Evaluation
from . import shapes
from .access import can_be_false, reach
from .causes import place_of
from .launch import INSIDE, OUTSIDE, Found, LaunchedKernel, first_program, found_of, left, look
from .memory import Address, Buffer, Described
from .module import family
from .numbers import ALL, Algebra, Unfollowed, wrapped
from .trace import FACTOR, TERM, Trace, inputs_of
from .types import extents, signature


def evaluate(launch: LaunchedKernel) -> Evaluation:
    """The loads of a launch that meet nothing but memory as the allocator left it, and why that may not be all."""
    buffers = [value.buffer if isinstance(value, Described) else value for value in launch.arguments]
    if all(buffer.written for buffer in buffers if isinstance(buffer, Buffer)):
        return Evaluation()
    seen = look(launch)
    unknown = seen.machine.doubt or ("" if seen.whole else "a part of its program instances was looked at")
    if "descriptor" in launch.raw:
        unknown = unknown or "a copy by a descriptor may load what nobody wrote"
    causes: Dict[int, Cause] = {}
    with torch.no_grad():
        for found in (found_of(Algebra(), note) for note in left(launch, seen.machine)):
            if found.op.name == "tt.load":
                wrong, why = _judged(launch, found)
                unknown = unknown or (why and "%s: %s" % (found.op.name, why))
                if wrong:
                    causes.setdefault(id(found.op), _cause(launch, found))
    return Evaluation(tuple(causes.values()), unknown)


def _judged(launch: LaunchedKernel, found: Found) -> Tuple[bool, str]:
    """Whether one load meets unwritten memory, or why nobody knows."""
    buffer, mask = found.buffer, found.note.mask
    bound = mask.bound if isinstance(mask, Unfollowed) else mask
    if buffer is not None and buffer.written or bound is not None and reach(Algebra(), 0, bound) is None:
        return False, ""
    if buffer is None:
        return False, found.why or "a load through an unknown pointer"
    if buffer.written is None or _writes(launch, buffer):
        return False, "which elements of the tensor were written before is not known"
    why = found.why or getattr(mask, "why", "" if found.state == INSIDE else "it leaves its tensor")
    known = not isinstance(mask, Unfollowed) and (found.state == INSIDE or found.state == OUTSIDE and _enters(found))
    return known, why


def _enters(found: Found) -> bool:
    """Whether a load that leaves its tensor is of the tensor in other lanes."""
    assert found.buffer is not None and isinstance(found.note.subject, Address)
    reached = reach(Algebra(), wrapped(found.note.subject.offset), found.note.mask)
    return reached is not None and reached.low < found.buffer.size and reached.high >= 0


def _writes(launch: LaunchedKernel, buffer: Buffer) -> bool:
    """Whether the kernel itself may write to this storage."""
    same = [each for each in launch.arguments if isinstance(each, Buffer) and each.storage == buffer.storage]
    return launch.written is None or any(each.parameter in launch.written for each in same)


def _cause(launch: LaunchedKernel, found: Found) -> Cause:
    note, place = found.note, place_of(launch, found.op)
    steps = [step for step in Trace(note.frame, note.env, found.op).steps if step.role in (TERM, FACTOR)]
    first = functools.partial(first_program, len(extents(signature(found.op.body))))
    return Cause(
        kinds.UNINITIALISED,
        kinds.UNWRITTEN,
        "",
        TERM,
        tuple(sorted(inputs_of(steps))),
        family(found.op),
        note.masked and can_be_false(note),
        exact=True,
        far=kinds.ANYWHERE,
        first=reach(Algebra(ALL), 0, shapes.mapped(note.mask, first)) is not None,
        always=False,
        detail="",
        place=place,
        at=place,
        sentence="the %s at %s is from a tensor of torch.empty that nothing wrote to before"
        % (family(found.op), place),
    )
