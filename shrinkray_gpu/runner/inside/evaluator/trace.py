"""What an access hangs on: from its address and its mask back to what they are made of, and by which way."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from typing import Any, Dict, FrozenSet, Iterable, Iterator, List, Optional, Set, Tuple

from ..static.cause import ARGUMENT, COMPARISON, CONSTANT, GRID, INDICES, LOADED, OTHER, PROGRAM, RANGE, TRIP
from ..static.ttgir import Op
from .access import Lane, at
from .machine import Frame
from .memory import Address
from .module import ACCESSES, MAKES_BLOCK, IrFunction, called, listed
from .numbers import Unfollowed, exact, number, wrapped
from .types import extents, signature

TERM, FACTOR, BOUND, DIVISOR, CONDITION = "term", "factor", "bound", "divisor", "condition"

LONGEST = 1 << 14
"""Bytes of a tensor that are looked at, to know it again."""

Axes = Optional[Tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class Step:
    """One value on the way back from an access. `role`: what it is to the access. `op`: what makes it; None for a
    parameter of the kernel. `axes`: for each dimension of its block, from the right, the axis of the access; None where
    the way back loses them."""

    name: str
    frame: Frame
    env: Any
    role: str
    op: Optional[Op]
    axes: Axes
    rank: int
    kind: str = ""
    """Of a leaf, what it is."""

    @property
    def function(self) -> IrFunction:
        return self.frame.function

    @property
    def scalar(self) -> Optional[int]:
        """What it is where that is one known number."""
        return number(self.env.get(self.name))

    @property
    def index(self) -> str:
        """Of a leaf that numbers the elements: its sort and its axis, as `Cause.indices` has it; else empty."""
        if self.kind == PROGRAM and self.op is not None:  # of one in its row each number is 0
            return "%s %s" % (self.kind, self.op.body[:1]) if self.scalar is None else ""
        if self.kind == RANGE and self.axes:
            return "%s %d" % (self.kind, self.axes[0])
        return self.kind if self.kind in INDICES else ""

    @property
    def source(self) -> str:
        """Of a loaded value: what stands for all that its tensor holds; empty where nobody knows."""
        address = self.env.get(self.op.operands()[0]) if self.op is not None else None
        held = address.buffer.integers("i8") if isinstance(address, Address) else None
        if held is None or isinstance(held, Unfollowed):
            return ""
        return "%d:%08x" % (len(held), zlib.crc32(bytes(each & 255 for each in held[:LONGEST].tolist())))

    def value(self, lane: Lane) -> Optional[Tuple[int, int]]:
        """What it is in one lane, as computed and in exact arithmetic; None where that is not known."""
        found = self.env.get(self.name)
        if isinstance(found, Address):
            found = found.offset
        if found is None or isinstance(found, Unfollowed) or self.axes is None and not isinstance(found, int):
            return None
        own = self.axes or ()
        # Beyond the block lie the axes of the program and of the loops, the same for all.
        here = {axis - self.rank + len(own): place for axis, place in lane.items() if axis > self.rank}
        here.update({at_own: lane[axis] for at_own, axis in enumerate(own, start=1) if axis in lane})
        try:
            one, other = at(wrapped(found), here), at(exact(found), here)
        except (AttributeError, TypeError, IndexError):
            return None
        return None if one is None or other is None else (one, other)


class Trace:
    """All values behind one note's subject and mask; of one that is no access, behind these operands."""

    def __init__(self, frame: Frame, env: Dict[str, Any], op: Op, operands: Optional[List[str]] = None) -> None:
        self.steps: List[Step] = []
        self._seen: Set[Tuple[int, str, str]] = set()
        self._inputs: Dict[Tuple[int, str], List[Step]] = {}
        names = op.operands() if operands is None else operands
        self._where = where = ACCESSES.get(op.name)
        self._rank = len(extents(signature(op.body)))
        axes = tuple(range(1, self._rank + 1))
        self.address = self._follow(names[0], frame, env, TERM, axes) if names else None
        self.mask = None
        if where is not None and len(names) > where:
            self.mask = self._follow(names[where], frame, env, BOUND, axes)

    def leaves(self) -> Iterator[Step]:
        return (step for step in self.steps if step.kind)

    def inputs(self, step: Step) -> List[Step]:
        """The values that one is made of."""
        return self._inputs.get((id(step.frame), step.name), [])

    def below(self, step: Step) -> List[Step]:
        """The leaves that one value is made of."""
        out: List[Step] = []
        todo, seen = [step], set()
        while todo:
            each = todo.pop()
            if (id(each.frame), each.name) in seen:
                continue
            seen.add((id(each.frame), each.name))
            if each.kind:
                out.append(each)
            todo.extend(self.inputs(each))
        return out

    def bounds(self) -> List[Step]:
        """The sides of comparisons that no index is on."""
        compared = [each for each in self.steps if each.op is not None and each.op.name == "arith.cmpi"]
        sides = [side for each in compared for side in self.inputs(each)]
        return [side for side in sides if all(leaf.kind not in INDICES for leaf in self.below(side))]

    def compared(self, bound: Step) -> List[Step]:
        """The indices that the mask compares with this bound."""
        return [leaf for leaves in self.beside(bound, "arith.cmpi") for leaf in leaves if leaf.kind in INDICES]

    def beside(self, leaf: Step, operation: str) -> List[List[Step]]:
        """The leaves of the other side of each such operation that has this one on one side."""
        out: List[List[Step]] = []
        for each in self.steps:
            sides = self.inputs(each) if each.op is not None and each.op.name == operation else []
            for side, other in zip(sides, reversed(sides)):
                if any(one.name == leaf.name and one.frame is leaf.frame for one in self.below(side)):
                    out.append(self.below(other))
        return out

    def _follow(self, name: str, frame: Frame, env: Any, role: str, axes: Axes) -> Step:
        """Note a value, and what it is made of. Each is noted once for each role."""
        op = frame.function.definitions.get(name)
        step = Step(name, frame, env, role, op, axes, self._rank, self._kind(name, frame, op, role))
        key = (id(frame), name, role)
        if key in self._seen:
            return step
        self._seen.add(key)
        self.steps.append(step)
        if not step.kind:
            behind = list(self._behind(name, op, frame, env, role))
            given = _axes_before(op, axes)
            inputs = [self._follow(*each, given) for each in behind]
            self._inputs.setdefault((id(frame), name), inputs)
        return step

    def _kind(self, name: str, frame: Frame, op: Optional[Op], role: str) -> str:
        if op is None:
            return "" if frame.caller is not None and name in frame.function.parameters else ARGUMENT
        if op.name == "tt.get_program_id":
            return PROGRAM
        if op.name == "tt.get_num_programs":
            return GRID
        if op.name == "tt.make_range":
            return RANGE
        if op.name == "tt.load":
            return LOADED
        if op.name == "arith.constant":
            return CONSTANT
        if op.name == "arith.cmpi" and role in (TERM, FACTOR) and self._where is not None:
            return COMPARISON
        if op.name == "scf.for" and name == frame.function.loops[id(op)].variable:
            return TRIP
        return OTHER if op.name in ("tt.atomic_rmw", "tt.atomic_cas") else ""

    def _behind(
        self, name: str, op: Optional[Op], frame: Frame, env: Any, role: str
    ) -> Iterator[Tuple[str, Frame, Any, str]]:
        """Names that a value is made of, each where it is defined and with its role."""
        if op is None:
            if frame.caller is not None and frame.call is not None and name in frame.function.parameters:
                given = frame.call.operands()
                place = frame.function.parameters.index(name)
                if place < len(given):
                    yield given[place], frame.caller, frame.caller.env, role
            return
        if op.name == "tt.call":
            callee = frame.called.get(id(op))
            if callee is not None and called(op):
                for each in callee.function.all:
                    if each.name == "tt.return":
                        place = op.results.index(name)
                        for returned in each.operands()[place : place + 1]:
                            if callee.env.get(returned) is not None:
                                yield returned, callee, callee.env, role
            return
        if op.name == "scf.for":
            loop = frame.function.loops[id(op)]
            place = loop.names.index(name) if name in loop.names else op.results.index(name)
            yielded = op.regions[0].blocks[-1].ops[-1].operands()
            for carried in (*loop.initial[place : place + 1], *yielded[place : place + 1]):
                yield carried, frame, env, role
            if name in loop.names and name not in yielded[place : place + 1]:
                yield loop.variable, frame, env, role  # how far it has grown is a matter of trips
            return
        if op.name in ("scf.if", "scf.while"):
            place = op.results.index(name) if name in op.results else 0
            for region in op.regions:
                handed = region.blocks[-1].ops[-1].operands() if region.blocks[-1].ops else []
                for one in handed[place : place + 1]:
                    yield one, frame, env, role
            if op.name == "scf.if":
                yield op.operands()[0], frame, env, CONDITION
            return
        for place, operand in enumerate(op.operands()):
            yield operand, frame, env, _role(op, place, role)


def ends_of_loop(trip: Step) -> Tuple[List[Step], List[Step]]:
    """What the number of a loop's first trip is made of, and that at which it ends."""
    if trip.op is None or trip.op.name != "scf.for":
        return [], []
    loop = trip.function.loops[id(trip.op)]
    low, high = (list(Trace(trip.frame, trip.env, trip.op, [name]).leaves()) for name in (loop.low, loop.high))
    return low, high


def behind(step: Step) -> List[Step]:
    """The leaves that the value of a leaf hangs on, through whatever memory and loops, with itself."""
    found: Dict[Tuple[int, str], Step] = {}
    todo = [step]
    while todo:
        each = todo.pop()
        if found.setdefault((id(each.frame), each.name), each) is not each:
            continue
        if each.kind == LOADED and each.op is not None:
            todo += [leaf for leaf in Trace(each.frame, each.env, each.op).leaves() if leaf.role in (TERM, FACTOR)]
        elif each.kind == TRIP:
            low, high = ends_of_loop(each)
            todo += low + high
    return list(found.values())


def parameters_behind(step: Step) -> FrozenSet[str]:
    """The kernel's parameters among them."""
    return frozenset(each.name.lstrip("%") for each in behind(step) if each.kind == ARGUMENT)


def unique(steps: Iterable[Step]) -> List[Step]:
    """Each once for each role."""
    out: Dict[Tuple[int, str, str], Step] = {}
    for step in steps:
        out.setdefault((id(step.frame), step.name, step.role), step)
    return list(out.values())


def inputs_of(steps: Iterable[Step]) -> Set[str]:
    """What these leaves are, but for the pointer itself."""
    return {step.kind for step in steps if step.kind not in ("", OTHER) and not _is_base(step)}


def _is_base(step: Step) -> bool:
    return step.kind == ARGUMENT and isinstance(step.env.get(step.name), Address)


def _role(op: Op, place: int, role: str) -> str:
    """What an operand is to the access, given what the result is."""
    if role in (BOUND, CONDITION, DIVISOR):
        return role
    if op.name == MAKES_BLOCK:
        lengths = [len(names) for names in listed(op)]
        return role if not 0 < place <= sum(lengths[:2]) else BOUND if place <= lengths[0] else FACTOR
    if op.name in ("arith.muli", "arith.shli"):
        return FACTOR
    if role == FACTOR and op.name in ("arith.addi", "arith.subi"):
        return TERM  # of an index that is multiplied
    if op.name in ("arith.cmpi", "arith.minsi", "arith.maxsi", "arith.minui", "arith.maxui"):
        return BOUND
    if op.name in ("arith.divsi", "arith.divui", "arith.remsi", "arith.remui") and place == 1:
        return DIVISOR
    if op.name == "arith.select" and place == 0:
        return CONDITION
    return role


def _axes_before(op: Optional[Op], axes: Axes) -> Axes:
    """The axes of an operation's operands, given those of its result."""
    if op is None or axes is None or op.name in _KEEPS or op.name.startswith(("arith.", "scf.", "math.")):
        return axes
    if op.name in ("tt.splat", MAKES_BLOCK):
        return ()
    if op.name == "tt.expand_dims":
        found = re.search(r"axis = (\d+)", op.body)
        new = len(axes) - int(found.group(1)) if found else 0
        return tuple(axis for at_own, axis in enumerate(axes, start=1) if at_own != new)
    if op.name == "tt.trans":
        found = re.search(r"order = array<i32: ([\d, ]+)>", op.body)
        if found is None:
            return None
        order = [int(n) for n in found.group(1).split(",")]
        before = {source: axes[len(axes) - 1 - place] for place, source in enumerate(order)}
        return tuple(before[source] for source in reversed(range(len(order))))
    return None


_KEEPS = ("tt.addptr", "tt.broadcast", "tt.bitcast", "tt.call", "tt.load", "tt.advance")
