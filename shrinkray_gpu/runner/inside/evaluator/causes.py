"""From a launch to what goes wrong in it: each access outside of its tensor, its origin, a sentence for a reader."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import List, Optional

from ..static import cause as kinds
from ..static import locations
from ..static.cause import Cause, Evaluation
from ..static.ttgir import Op
from . import module as modules
from .launch import (
    INSIDE,
    OUTSIDE,
    UNKNOWN,
    Found,
    LaunchedKernel,
    Look,
    goes_wrong_at_once,
    is_due,
    is_wholly_outside,
    look,
    touches_memory,
)  # fmt: skip
from .origin import Origin, leaves_of, origin
from .trace import BOUND, behind, parameters_behind

MOST = 8
"""Accesses outside whose origin is looked for; each costs a few more looks at the launch."""


def evaluate(launch: LaunchedKernel) -> Evaluation:
    """What goes wrong in one launch, and why that is not all that may."""
    seen = look(launch)
    causes: List[Cause] = []
    for at, found in enumerate(seen.outside):
        begins = origin(launch, seen, found) if at < MOST else Origin("", op=found.op)
        causes.append(_of_access(launch, found, begins))
    for found in seen.assertions:
        if found.state == OUTSIDE:
            causes.append(_of_condition(launch, found, kinds.ASSERT, kinds.ASSERTION))
    for found in seen.divisions:
        if found.state == OUTSIDE:
            causes.append(_of_condition(launch, found, kinds.DIVISION, kinds.ZERO))
    accesses = sum(touches_memory(found) for found in seen.accesses)
    return Evaluation(tuple(causes), _unknown(seen), seen.hazard, accesses)


def _unknown(seen: Look) -> str:
    if seen.unknown:
        return seen.unknown
    undecided = next((each for each in (*seen.assertions, *seen.divisions) if each.state == UNKNOWN), None)
    return "" if undecided is None else "%s: %s" % (undecided.op.name, undecided.why)


def _of_access(launch: LaunchedKernel, found: Found, begins: Origin) -> Cause:
    op = begins.op if begins.op is not None else found.op
    cause = Cause(
        kinds.BOUNDS,
        begins.kind,
        begins.operation,
        begins.role,
        tuple(sorted(begins.inputs)),
        begins.access,
        begins.masked,
        found.exact_state != INSIDE,
        _distance(found),
        goes_wrong_at_once(found),
        False,
        begins.detail,
        place=place_of(launch, op),
        at=place_of(launch, found.op),
        sentence="",
        name=begins.name.lstrip("%"),
        values=tuple(begins.value),
        whole=is_wholly_outside(found),
        fewer=begins.fewer,
        by_one=begins.by_one,
        sized=begins.sized,
        passed=begins.passed,
        foreign=begins.foreign,
        beyond=tuple(sorted(begins.beyond)),
        unseen=tuple(sorted(begins.unseen)),
        guards=begins.guards,
        bounds=begins.bounds,
        indices=tuple(sorted(begins.indices)),
        source=begins.source,
        parameters=tuple(sorted(begins.parameters)),
        varying=begins.varying,
        operands=begins.operands,
        below=found.offset < 0,
        reach=found.offset,
        due=begins.kind != kinds.WRAPPED or is_due(found),
    )
    buffer = found.buffer
    if buffer is not None:
        names = found.note.outermost.function.parameters
        tensor = names[buffer.parameter].lstrip("%") if buffer.parameter < len(names) else ""
        cause = replace(cause, tensor=tensor, shape=buffer.shape, strides=buffer.strides)
    return replace(cause, sentence=_sentence(cause, begins, found))


def _distance(found: Found) -> int:
    buffer = found.buffer
    if buffer is None or buffer.null:
        return kinds.ANYWHERE
    held = _segment(buffer.size)
    if -held <= found.offset < held:
        return 0
    return min(max(-found.offset, found.offset - buffer.size), kinds.ANYWHERE)


def _segment(size: int) -> int:
    """Bytes that torch's caching allocator asks the driver for at once, to place a tensor of `size` bytes in."""
    if size <= 1 << 20:
        return 2 << 20
    if size < 10 << 20:
        return 20 << 20
    return -(-size // (2 << 20)) * (2 << 20)


def _of_condition(launch: LaunchedKernel, found: Found, rule: str, kind: str) -> Cause:
    steps = leaves_of(found)
    place = place_of(launch, found.op)
    what = "an assertion does not hold" if rule == kinds.ASSERT else "a divisor is 0"
    loaded = list({(id(step.frame), step.name): step for step in steps if step.kind == kinds.LOADED}.values())
    values = [value[0] for step in loaded if (value := step.value(found.lane))]
    told = ", ".join(dict.fromkeys("a loaded value is %d" % value for value in values))
    given = {step.name.lstrip("%"): step.value(found.lane) for step in steps if step.kind == kinds.ARGUMENT}
    passed = [value[0] for value in given.values() if value]
    parameters = {name for step in steps for name in parameters_behind(step)}
    return Cause(
        rule,
        kind,
        found.op.name,
        "condition" if rule == kinds.ASSERT else "divisor",
        tuple(sorted({step.kind for step in steps if step.kind})),
        "",
        False,
        True,
        kinds.ANYWHERE,
        goes_wrong_at_once(found),
        found.always,
        "",
        place=place,
        at=place,
        sentence="%s%s%s" % (what, _of(place), "; there %s" % told if told else ""),
        name=" and ".join(given),
        parameters=tuple(sorted(parameters)),
        bounds=len({(id(step.frame), step.name) for step in steps if step.kind in (kinds.ARGUMENT, kinds.LOADED)}),
        varying=sum(any(leaf.kind in (kinds.PROGRAM, kinds.RANGE) for leaf in behind(step)) for step in loaded),
        operands=(*values, *passed),
    )


def place_of(launch: LaunchedKernel, op: Optional[Op]) -> str:
    """`kernel.py:57:12`, in lines of the file; empty where that is not known."""
    found = locations.of_place(launch.raw, op.place) if op is not None else None
    if op is None or found is None:
        return ""
    before = launch.lines_before(_function_of(launch, op))
    return "" if before is None else "%s:%d:%d" % (os.path.basename(found[0]), before + found[1], found[2])


def _function_of(launch: LaunchedKernel, op: Op) -> Optional[str]:
    """The function that an operation is in, as `lines_before` takes it."""
    if locations.is_inlined(launch.raw, op.place):
        return None
    functions = enumerate(modules.read(launch.raw).functions.items())
    return next((name if at else "" for at, (name, each) in functions if any(op is one for one in each.all)), None)


def _of(place: str) -> str:
    return " (%s)" % place if place else ""


def _sentence(cause: Cause, begins: Origin, found: Found) -> str:
    """What is wrong, in one line."""
    value = begins.value
    buffer = found.buffer
    where = ""
    if buffer is not None and cause.kind != kinds.EMPTY:
        inside = found.offset - buffer.at
        where = "; the %s at %s reaches byte %d of a tensor of %d" % (
            cause.access or "access", cause.at or "an unknown place", inside, buffer.size - buffer.at,
        )  # fmt: skip
    begin = _of(cause.place)
    if cause.kind == kinds.WRAPPED and len(value) == 2:
        what = "the %s%s is %d, and is kept as %d" % (cause.operation, begin, value[1], value[0])
    elif cause.kind == kinds.MEMORY and value:
        what = "an index that was loaded%s is %d" % (begin, value[0])
        if cause.role == BOUND and len(value) == 2:
            what = "a bound that was loaded%s is %d, where the tensor's extent is %d" % (begin, value[0], value[1])
    elif cause.kind == kinds.EMPTY:
        what = "the tensor behind the %s%s holds no element" % (cause.access, _of(cause.at))
    elif cause.kind == kinds.ZERO:
        what = "an index is divided by 0%s" % begin
    elif cause.kind == kinds.STRIDE and len(value) == 2:
        what = "the stride %s is %d, where the tensor's is %d" % (_name(begins), value[0], value[1])
    elif cause.kind == kinds.SWAPPED and len(value) == 2:
        what = "the strides %d and %d of the tensor are passed in the wrong order" % (value[0], value[1])
    elif cause.kind == kinds.EXTENT and len(value) == 2:
        what = "the extent %s is %d, where the tensor's is %d" % (_name(begins), value[0], value[1])
    elif cause.kind == kinds.OFFSET and value:
        what = "the offset %s is %d" % (_name(begins), value[0])
        if cause.detail:
            what += ", and the tensor that is passed begins there already"
    elif cause.kind == kinds.DESCRIPTOR:
        what = "a descriptor%s describes more than the tensor holds" % begin
    elif cause.kind == kinds.NO_MASK:
        what = "the %s%s has no mask" % (cause.access, _of(cause.at))
    elif cause.kind:
        what = "the mask of the %s%s lets it through" % (cause.access, _of(cause.at))
    else:
        what = "one access more is outside"
    return what + where


def _name(begins: Origin) -> str:
    return begins.name.lstrip("%") or "that is passed"
