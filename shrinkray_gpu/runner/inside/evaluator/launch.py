"""One launch, looked at: which accesses stay inside of their tensors, which leave them, which nobody can tell of."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, Optional, Sequence, Tuple

import torch

from ..static import locations
from ..static.ttgir import Op
from . import module as modules
from . import shapes
from .access import Lane, Reach, reach
from .machine import PROGRAM_AXES, Handler, Machine, Note
from .memory import Address, Buffer, Described
from .module import DIVISIONS, REACHING, Module
from .numbers import ALL, Algebra, Lanes, TooLarge, Unfollowed, ends, exact, wrapped
from .operations import HANDLERS
from .types import extents, pointee, signature

INSIDE, OUTSIDE, UNKNOWN = "inside", "outside", "unknown"

FEW = (48, 6)
"""Program instances along each axis of the grid where all of them are too many lanes."""


@dataclass(frozen=True)
class LaunchedKernel:
    """What is looked at. `raw`: the module as the frontend made it; `ttir`: what Triton's first passes made of it, by
    which it is told what they removed (empty: nothing). `arguments`: of each of the kernel's parameters an integer, a
    `Buffer`, a `Described`, or None for what is not known. `written`: indices of the parameters it may write through;
    None: nobody knows which. `passed` gives, by line, column and value of each operation that names an integer which
    the host passes, that name: Triton makes constants of constexprs, and of each argument that is 1. `lines_before`: of
    a function of `raw`, what to add to its lines for those of the file; None where nobody knows. An empty name is the
    kernel's, None that of a function that was inlined. `once`: see `Machine`."""

    raw: str
    ttir: str
    grid: Tuple[int, int, int]
    arguments: Tuple[Any, ...]
    written: Optional[FrozenSet[int]] = None
    passed: Callable[[], Dict[Tuple[int, int, int], str]] = dict
    lines_before: Callable[[Optional[str]], Optional[int]] = lambda function: 0
    once: FrozenSet[int] = frozenset()


@dataclass
class Found:
    """What is known of one access: `state`, why that is not known, and of one outside a lane in which it is."""

    note: Note
    state: str
    why: str = ""
    lane: Lane = field(default_factory=dict)
    offset: int = 0
    """Bytes from the start of the storage, in that lane."""
    exact_state: str = INSIDE
    """The same in exact arithmetic."""
    buffer: Optional[Buffer] = None
    always: bool = False
    """Of a condition: whether it fails wherever it is asked."""

    @property
    def op(self) -> Op:
        return self.note.op


@dataclass
class Look:
    """What one look at a launch found. `whole`: whether all program instances and trips were looked at."""

    module: Module
    machine: Machine
    accesses: List[Found]
    assertions: List[Found]
    divisions: List[Found]
    whole: bool

    @property
    def outside(self) -> List[Found]:
        return [found for found in self.accesses if found.state == OUTSIDE]

    @property
    def unknown(self) -> str:
        """Why it is not proved that all accesses stay inside; empty if it is."""
        if self.machine.doubt:
            return self.machine.doubt
        for found in self.accesses:
            if found.state == UNKNOWN:
                return "%s: %s" % (found.op.name, found.why)
        return "" if self.whole else "a part of its program instances was looked at"

    @property
    def hazard(self) -> str:
        """As in `Evaluation`."""
        unsure = (found for found in self.accesses if found.state == UNKNOWN and found.buffer and found.buffer.null)
        null = next(("%s of a null pointer: %s" % (found.op.name, found.why) for found in unsure), "")
        return self.machine.hazard or null


def look(
    launch: LaunchedKernel,
    *,
    overrides: Optional[Dict[Any, Any]] = None,
    handlers: Dict[str, Handler] = HANDLERS,
) -> Look:
    """Run the launch, of all program instances if those take no tensor of more than LIMIT elements, else of some."""
    module = modules.read(launch.raw)
    with torch.no_grad():
        found = _look(module, launch, ALL, overrides, handlers)
        if _too_large(found):
            for most in FEW:
                found = _look(module, launch, most, overrides, handlers)
                if not _too_large(found):
                    break
    return found


def _too_large(found: Look) -> bool:
    return any(each.why == "too many lanes" for each in (*found.accesses, *found.assertions))


def _look(module: Module, launch: LaunchedKernel, most: int, overrides: Any, handlers: Dict[str, Handler]) -> Look:
    algebra = Algebra()
    programs, whole = program_axes(launch.grid, most)
    machine = Machine(
        module,
        arguments_as_values(launch.arguments),
        launch.grid,
        handlers=handlers,
        algebra=algebra,
        programs=programs,
        overrides=overrides,
        written=launch.written,
        once=launch.once,
    )
    machine.run()
    accesses: Dict[Any, Found] = {}
    for note in left(launch, machine):
        found = found_of(algebra, note)
        key = (id(note.op), note.frame.path)
        if key not in accesses or _rank(found) > _rank(accesses[key]):
            accesses[key] = found
    assertions = [_truth(algebra, note) for note in machine.notes if note.op.name == "tt.assert"]
    divisions = [_truth(algebra, note) for note in machine.notes if note.op.name in DIVISIONS]
    return Look(module, machine, list(accesses.values()), assertions, divisions, whole and not machine.sampled)


def _rank(found: Found) -> int:
    return (INSIDE, UNKNOWN, OUTSIDE).index(found.state)


def left(launch: LaunchedKernel, machine: Machine) -> Iterator[Note]:
    """The accesses that Triton's first passes left, each time that it is met."""
    folded = bool(launch.ttir) and launch.ttir != launch.raw
    survivors = {_site(launch.ttir, op) for op in _accesses(launch.ttir)} if folded else set()
    for note in machine.notes:
        if note.op.name in REACHING and (not folded or _site(launch.raw, note.op) in survivors):
            yield note


def _accesses(text: str) -> List[Op]:
    functions = modules.read(text).functions.values()
    return [op for function in functions for op in function.all if op.name in REACHING]


def _site(text: str, op: Op) -> Any:
    return locations.of_place(text, op.place)


def found_of(algebra: Algebra, note: Note) -> Found:
    """Whether one access is inside of its tensor."""
    subject = note.subject
    try:
        if not isinstance(subject, Address):
            why = subject.why if isinstance(subject, Unfollowed) else "an access by something else than a pointer"
            return Found(note, INSIDE if _never(note.mask) else UNKNOWN, why)
        return _addressed(algebra, note, subject)
    except TooLarge:
        return Found(note, UNKNOWN, "too many lanes")


def happens(found: Found) -> bool:
    """Whether the access's mask lets anything through."""
    mask = found.note.mask
    return isinstance(mask, Unfollowed) or reach(Algebra(ALL), 0, mask) is not None


def _never(mask: Any) -> bool:
    return isinstance(mask, int) and not mask


def _addressed(algebra: Algebra, note: Note, address: Address) -> Found:
    target = pointee(signature(note.op.body))
    width = target[1] if target else 1
    state, why, lane, offset = _state(algebra, wrapped(address.offset), note.mask, address.buffer, width)
    in_exact = state
    if wrapped(address.offset) is not exact(address.offset) or note.mask is not note.exact_mask:
        in_exact = _state(algebra, exact(address.offset), note.exact_mask, address.buffer, width)[0]
    return Found(note, state, why, lane, offset, in_exact, address.buffer)


def _state(algebra: Algebra, offset: Any, mask: Any, buffer: Buffer, width: int) -> Tuple[str, str, Lane, int]:
    if _never(mask):
        return INSIDE, "", {}, 0
    bound, doubt = mask, ""
    if isinstance(mask, Unfollowed):
        bound, doubt = 1 if mask.bound is None else mask.bound, mask.why
    if buffer.null:
        offset = 0
    if isinstance(offset, Unfollowed):
        return UNKNOWN, offset.why, {}, 0
    if not buffer.null and ends(offset)[0] >= 0 and ends(offset)[1] + width <= buffer.size:
        return INSIDE, "", {}, 0
    found: Optional[Reach] = reach(algebra, offset, bound)
    if found is None:
        return INSIDE, "", {}, 0
    beyond = found.high + width > buffer.size
    if not beyond and found.low >= 0 and not buffer.null:
        return INSIDE, "", {}, 0
    if doubt:
        return UNKNOWN, doubt, {}, 0
    return OUTSIDE, "", found.highest if beyond else found.lowest, found.high if beyond else found.low


def is_due(found: Found) -> bool:
    """Whether exact arithmetic, too, makes the access in a lane that goes wrong. Else its mask takes nothing there once
    no integer wraps."""
    note, buffer = found.note, found.buffer
    masks = note.mask, note.exact_mask
    if note.mask is note.exact_mask or buffer is None or any(isinstance(each, Unfollowed) for each in masks):
        return True
    assert isinstance(note.subject, Address)
    algebra, target = Algebra(ALL), pointee(signature(note.op.body))
    offset, width = wrapped(note.subject.offset), target[1] if target else 1
    return _state(algebra, offset, algebra.both(*masks), buffer, width)[0] == OUTSIDE


def goes_wrong_at_once(found: Found) -> bool:
    """Whether what is outside, or does not hold, is so in the first program instance of the launch."""
    note = found.note
    first = functools.partial(first_program, len(extents(signature(note.op.body))))
    mask = shapes.mapped(note.mask, first)
    algebra = Algebra(ALL)
    if isinstance(note.subject, Address):
        target = pointee(signature(note.op.body))
        offset = shapes.mapped(wrapped(note.subject.offset), first)
        assert found.buffer is not None
        return _state(algebra, offset, mask, found.buffer, target[1] if target else 1)[0] != INSIDE
    value = shapes.mapped(wrapped(note.subject), first)
    failing = int(not value) if isinstance(value, int) else algebra.opposite(value)
    return reach(algebra, 0, algebra.both(mask, failing)) is not None


def is_wholly_outside(found: Found) -> bool:
    """Whether the program instance in which an access was found outside is so in each of its lanes."""
    note, buffer = found.note, found.buffer
    if buffer is None or not isinstance(note.subject, Address) or isinstance(note.mask, Unfollowed):
        return False
    one = functools.partial(_program, len(extents(signature(note.op.body))), found.lane)
    reached = reach(Algebra(ALL), shapes.mapped(wrapped(note.subject.offset), one), shapes.mapped(note.mask, one))
    return reached is not None and (reached.low >= buffer.size or reached.high < 0)


def touches_memory(found: Found) -> bool:
    """Whether an access may do anything: its mask is not false everywhere. Of one of too many lanes nobody knows."""
    mask = found.note.mask
    try:
        return isinstance(mask, Unfollowed) or reach(Algebra(), 0, mask) is not None
    except TooLarge:
        return True


def first_program(rank: int, data: Any) -> Any:
    """The lanes of the first program instance of a block of `rank` dimensions."""
    return _program(rank, {}, data)


def _program(rank: int, lane: Lane, data: Any) -> Any:
    """The lanes of the program instance that a lane is of, or of the first one: the grid's axes lie before a block of
    `rank` dimensions."""
    for axis in range(rank + 1, rank + 1 + PROGRAM_AXES):
        if data.dim() >= axis:
            place = lane.get(axis, 0) if data.shape[-axis] > 1 else 0
            data = data.narrow(data.dim() - axis, place, 1)
    return data


def _truth(algebra: Algebra, note: Note) -> Found:
    """Whether a condition holds, or a divisor is not 0, wherever that is asked: OUTSIDE where it is not."""
    value = wrapped(note.subject)
    if _never(note.mask):
        return Found(note, INSIDE)
    if isinstance(value, (Unfollowed, Address)):
        return Found(note, UNKNOWN, getattr(value, "why", "a pointer"))
    try:
        failing = algebra.opposite(value) if not isinstance(value, int) else int(not value)
        if isinstance(failing, int) and not failing:
            return Found(note, INSIDE)
        mask = note.mask
        doubt = mask.why if isinstance(mask, Unfollowed) else ""
        bound = (1 if mask.bound is None else mask.bound) if isinstance(mask, Unfollowed) else mask
        found = reach(algebra, 0, algebra.both(bound, failing))
    except TooLarge:
        return Found(note, UNKNOWN, "too many lanes")
    if found is None:
        return Found(note, INSIDE)
    if doubt:
        return Found(note, UNKNOWN, doubt)
    holds = algebra.both(bound, algebra.opposite(failing))
    return Found(note, OUTSIDE, lane=found.highest, always=reach(algebra, 0, holds) is None)


def program_axes(grid: Tuple[int, int, int], most: int) -> Tuple[Tuple[Any, Any, Any], bool]:
    """The indices of the program instances to run, by axis, and whether those are all. Of more than `most` along an
    axis, those at both ends and some in between."""
    found: List[Any] = []
    whole = True
    for axis, count in enumerate(grid):
        if count == 1:
            found.append(0)
            continue
        if count <= most:
            index = torch.arange(count)
        else:
            whole = False
            third = max(1, most // 3)
            middle = torch.linspace(third, count - 1 - third, most - 2 * third).to(torch.int64)
            index = torch.cat((torch.arange(third), middle, torch.arange(count - third, count))).unique()
        found.append(Lanes(index.reshape(-1, *(1,) * axis), 0, count - 1, tight=True))
    return (found[0], found[1], found[2]), whole


def arguments_as_values(arguments: Sequence[Any]) -> List[Any]:
    """Arguments of a launch as values: integers, buffers, descriptors, None for what is not known."""
    out: List[Any] = []
    for value in arguments:
        if isinstance(value, bool):
            out.append(int(value))
        elif isinstance(value, int):
            out.append(value)
        elif isinstance(value, Buffer):
            out.append(Address(value, value.at))
        elif isinstance(value, Described):
            out.append(value)
        else:
            out.append(Unfollowed("an argument that is no integer"))
    return out
