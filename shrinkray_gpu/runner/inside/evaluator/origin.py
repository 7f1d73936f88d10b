"""Where an access that leaves its tensor begins to go wrong: its origin.

The kinds are a closed list. Each is decided by a counterfactual: with the exact product, with the loaded index left
out, with the stride that the tensor has, the access would stay inside (`counterfactual.py`). What no such change
explains is the index itself: a mask is missing, or the mask that there is lets it through.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Dict, FrozenSet, Iterable, Iterator, List, Optional, Set, Tuple

from ..static import cause as kinds
from ..static.ttgir import Op
from . import wrong_mask
from .access import can_be_false
from .counterfactual import Counterfactual, extents_of
from .factors import Factors, own_strides
from .guards import guards
from .launch import INSIDE, Found, LaunchedKernel, Look
from .module import ACCESSES, DIVISIONS, MAKES_DESCRIPTOR, family, listed
from .numbers import number
from .trace import BOUND, FACTOR, TERM, Step, Trace, ends_of_loop, inputs_of, parameters_behind, unique
from .trace import behind as behind_of
from .types import integer_bits, signature

FAMILIES = {
    "arith.muli": "product",
    "arith.addi": "sum",
    "arith.subi": "sum",
    "arith.shli": "shift",
    "arith.trunci": "narrowing",
}


@dataclass(frozen=True)
class Origin:
    """Where it begins.

    `op`: the operation where it begins. `value`: what that gives in the lane that was looked at, and what it should,
    for a reader. `name`: of the value in the IR. The others: as in `static.cause.Cause`.
    """

    kind: str
    operation: str = ""
    role: str = ""
    inputs: FrozenSet[str] = frozenset()
    access: str = ""
    masked: bool = False
    op: Optional[Op] = None
    value: Tuple[int, ...] = ()
    name: str = ""
    detail: str = ""
    fewer: bool = False
    by_one: bool = False
    sized: bool = False
    passed: Tuple[str, ...] = ()
    foreign: Tuple[str, ...] = ()
    beyond: FrozenSet[str] = frozenset()
    unseen: FrozenSet[str] = frozenset()
    guards: Tuple[str, ...] = ()
    bounds: int = 0
    indices: FrozenSet[str] = frozenset()
    source: str = ""
    parameters: FrozenSet[str] = frozenset()
    varying: int = 0
    operands: Tuple[int, ...] = ()


def origin(launch: LaunchedKernel, seen: Look, found: Found) -> Origin:
    """The origin of an access that is outside."""
    begins = _Search(launch, seen, found).origin()
    return replace(begins, source=" ".join(filter(None, (begins.source, *seen.machine.counted))))


class _Search:
    def __init__(self, launch: LaunchedKernel, seen: Look, found: Found) -> None:
        self.launch, self.found = launch, found
        self.what_if = Counterfactual(launch, seen, found)
        self.note, self.lane = found.note, found.lane
        self.trace = Trace(self.note.frame, self.note.env, self.note.op)
        self.given = Factors(self.what_if, self.trace)
        self.doubtful: Set[str] = set()
        """Parameters that contradict the tensor, each of which would explain the access."""

    def origin(self) -> Origin:
        found = self._first()
        inputs = found.inputs or frozenset(inputs_of(self.trace.leaves()))
        masked = self.note.masked and can_be_false(self.note)
        found = replace(
            found,
            inputs=inputs,
            access=family(self.note.op),
            masked=masked,
            guards=guards(self.note, self._address_leaves()),
        )
        found = replace(found, bounds=found.bounds + self._bounds())
        return replace(found, foreign=(*self._foreign(), *self._foreign_factor(found)))

    def _first(self) -> Origin:
        if self.found.buffer is not None and self.found.buffer.null:
            return Origin(kinds.EMPTY, op=self.note.op)
        if self.note.op.name not in ACCESSES:
            return Origin(kinds.DESCRIPTOR, inputs=frozenset(inputs_of(self._description())), op=self.note.op)
        asked = (self._wrap, self._division, self._swapped, self._passed)
        for ask in (*asked, self._memory, self._extents, self._offsets):
            found = ask() if not self.doubtful else None
            if found is not None:
                return found
        kind = kinds.WRONG_MASK if self.note.masked else kinds.NO_MASK
        inputs = frozenset(inputs_of(self._address_leaves()))
        assert self.found.buffer is not None
        bounding = self.what_if, self.found.buffer, unique(self.trace.leaves())
        fewer, leaving = self.what_if.inside_with_fewer(), self._leaving()
        left = frozenset().union(*leaving.values())
        by_one = wrong_mask.by_one(self.what_if, self.found.buffer, self.trace, left)
        beyond = frozenset(step.kind for step in left)
        sized = wrong_mask.is_sized(self.what_if.seen, self.found.buffer, leaving)
        # What numbers the elements and what a literal says is the kernel's own.
        given = [step for step in self.trace.leaves() if step.role == BOUND or step.kind in (kinds.LOADED, kinds.TRIP)]
        passed = () if by_one else wrong_mask.passed(*bounding, self.launch.arguments)
        passed = tuple(sorted({*passed, *self.doubtful}))
        behind = frozenset(name for step in given for name in parameters_behind(step))
        behind = behind.union(passed, wrong_mask.constexprs(self.launch, self.trace))
        loaded = {
            (id(leaf.frame), leaf.name) for step in given for leaf in behind_of(step) if leaf.kind == kinds.LOADED
        }
        values = [step.value(self.lane) for step in unique(given) if step.kind == kinds.LOADED]
        found = Origin(kind, role=TERM, inputs=inputs, op=self.note.op, fewer=fewer, by_one=by_one, beyond=beyond)
        if beyond == {kinds.TRIP}:
            detail = "in the last trip alone" if self.what_if.only_last_trip(leaving) else ""
            found = replace(found, bounds=len(wrong_mask.ends(self.launch, left)), detail=detail)
        unseen = frozenset(self._unseen()) if self.note.masked else frozenset()
        found = replace(found, indices=frozenset(self._indices()), unseen=unseen)
        operands = tuple(v[0] for v in values if v)
        return replace(found, parameters=behind, varying=len(loaded), operands=operands, passed=passed, sized=sized)

    def _indices(self) -> Iterator[str]:
        """See `Cause.indices`."""
        for step in unique(self.trace.leaves()):
            given = step.kind == kinds.ARGUMENT and step.role == TERM and step.scalar is not None
            index = step.kind if given else step.index
            if index and step.role != BOUND:
                yield ("%s in dimension %s" % (index, self.what_if.dimension(step))).rstrip()
            elif index:
                yield "%s in the mask" % index
        yield from _behind(self.trace.leaves())

    def _unseen(self) -> Iterator[str]:
        """See `Cause.unseen`."""
        seen = {step.index for step in self.trace.leaves() if step.role == BOUND}
        of: Dict[str, List[Step]] = {}
        for step in unique(self._address_leaves()):
            if step.index:
                of.setdefault(self.what_if.dimension(step), []).append(step)
        for steps in of.values():
            if any(step.index in seen for step in steps):
                yield from (step.kind for step in steps if step.index not in seen)

    def _leaving(self) -> Dict[int, Set[Step]]:
        """The indices that leave a dimension of the tensor; where none does by itself, with what is added to them."""
        leaves = unique(self._address_leaves())
        indices = [step for step in leaves if step.kind in kinds.INDICES]
        added = [step for step in leaves if step.role == TERM and step.kind in (kinds.CONSTANT, kinds.ARGUMENT)]
        alone = self.what_if.leaving(indices)
        return alone or self.what_if.leaving([*indices, *(one for one in added if one.scalar)])

    # The kinds, in the order in which they are asked

    def _description(self) -> Iterator[Step]:
        """What the extents and strides of a descriptor are made of, those that are the tensor's left out."""
        note, buffer = self.note, self.found.buffer
        name = note.op.operands()[0]
        op = note.op if note.op.name == MAKES_DESCRIPTOR else note.frame.function.definitions.get(name)
        if op is not None and op.name == MAKES_DESCRIPTOR and buffer is not None:
            given = [name for names in listed(op)[:2] for name in names]
            own = (*buffer.shape, *buffer.strides)
            others = [name for name, n in zip(given, own) if number(note.env.get(name)) != n]
            for name in others if len(given) == len(own) else given:
                yield from Trace(note.frame, note.env, op, [name]).leaves()

    def _wrap(self) -> Optional[Origin]:
        if self.found.exact_state != INSIDE:
            return None
        step = self.trace.address or self.trace.mask
        for start in (self.trace.address, self.trace.mask):
            if start is not None and self._differs(start):
                step = start
                break
        else:
            return None
        seen: Set[str] = set()
        while step is not None and step.name not in seen:
            seen.add(step.name)
            following = next((each for each in self.trace.inputs(step) if self._differs(each)), None)
            if following is None:
                break
            step = following
        if step is None or step.op is None:
            return None
        bits = integer_bits(signature(step.op.body))
        values = step.value(self.lane) or ()
        return Origin(
            kinds.WRAPPED,
            operation="%s i%d" % (FAMILIES.get(step.op.name, step.op.name), bits),
            role=step.role,
            inputs=frozenset(inputs_of(self.trace.below(step))),
            op=step.op,
            value=tuple(values),
            name=step.name,
        )

    def _differs(self, step: Step) -> bool:
        values = step.value(self.lane)
        return values is not None and values[0] != values[1]

    def _division(self) -> Optional[Origin]:
        for step in self.trace.steps:
            op = step.op
            if op is not None and op.name in ("arith.divsi", "arith.divui", "arith.remsi", "arith.remui"):
                divisor = next((each for each in self.trace.inputs(step) if each.name == op.operands()[1]), None)
                values = divisor.value(self.lane) if divisor is not None else None
                if divisor is not None and values is not None and values[0] == 0 and step.role != BOUND:
                    inputs = frozenset(inputs_of([divisor]))
                    return Origin(kinds.ZERO, role=step.role, op=op, inputs=inputs, name=divisor.name)
        return None

    def _memory(self) -> Optional[Origin]:
        """A loaded value that by itself leads beyond the tensor or its dimension, or that alone varies in the address;
        or one that the mask compares with, and that is more than the tensor has."""
        leaves = unique(self._address_leaves())
        indices = [step for step in leaves if step.kind in kinds.INDICES]
        loaded = [step for step in leaves if step.kind == kinds.LOADED]
        beyond = self.what_if.beyond([*indices, *loaded]) if loaded else frozenset()
        for step in sorted(loaded, key=lambda each: each not in beyond):
            if not indices or beyond and beyond.isdisjoint(indices) or self.what_if.alone_beyond(step):
                value = step.value(self.found.lane)
                found = self._given(kinds.MEMORY, step.role, step, *(value or ())[:1])
                behind = found.parameters | wrong_mask.bounding(self.trace)
                return replace(found, source=step.source, indices=frozenset(_behind([step])), parameters=behind)
        return next(self._extent(self._bounding(), kinds.LOADED, kinds.MEMORY), None)

    def _swapped(self) -> Optional[Origin]:
        """Two strides of the tensor, each in the other's place: put right, the access stays inside."""
        buffer = self.found.buffer
        assert buffer is not None
        for own in (own_strides(buffer), sorted(set(buffer.strides))):  # the others are those of extents of 1
            given = [(step, value) for step, value in self.given.factors() if value in own]
            for (one, a), (other, b) in itertools.combinations(given, 2):
                if a != b and self.given.explain({one: b, other: a}):
                    detail = "of dimensions %d and %d" % (buffer.strides.index(a), buffer.strides.index(b))
                    names = "%s and %s" % (one.name, other.name.lstrip("%"))
                    inputs = frozenset(map(self._giver, (one, other)))
                    found = self._given(kinds.SWAPPED, FACTOR, one, a, b)
                    both = found.parameters | parameters_behind(other)
                    return replace(found, inputs=inputs, name=names, detail=detail, parameters=both)
        return None

    def _passed(self) -> Optional[Origin]:
        """A stride, or a bound of the loop that the address goes through, though with the tensor's own the access stays
        inside."""
        trips = [step for step in self.trace.leaves() if step.kind == kinds.TRIP]
        found = list(self._extent(leaf for step in trips for leaf in ends_of_loop(step)[1]))
        for step, value, stride in self.given.contradicting():
            detail = "in bytes" if value == stride * self.given.buffer.width else ""
            found.append(replace(self._given(kinds.STRIDE, FACTOR, step, value, stride), detail=detail))
        return self._only([*found, *self._extent(self._bounding())]) if found else None

    def _only(self, claims: Iterable[Origin]) -> Optional[Origin]:
        """The one value that would explain the access. Of several nobody knows which is wrong."""
        found = {(claim.name, id(claim.op)): claim for claim in claims}
        if len(found) > 1:
            self.doubtful.update(*(claim.parameters for claim in found.values()))
        return next(iter(found.values())) if len(found) == 1 else None

    def _foreign(self) -> Iterator[str]:
        """What is in the address though it is no index of the tensor's."""
        if self.found.buffer is None or self.note.op.name not in ACCESSES:
            return
        leaves = list(self.trace.leaves())
        if any(step.kind == kinds.COMPARISON for step in leaves):
            yield "a comparison"
        if any(step.kind == kinds.CONSTANT and step.role == TERM and step.scalar for step in leaves):
            yield "a written offset"
        if self.given.others():
            yield "a stride that is not the tensor's"

    def _foreign_factor(self, found: Origin) -> Iterator[str]:
        """Where a loaded value is at fault, what it is multiplied by, if that is no stride of the tensor."""
        step = next((each for each in self.trace.leaves() if each.name == found.name), None)
        if found.kind == kinds.MEMORY and found.role != BOUND and step is not None and self.found.buffer is not None:
            if self.what_if.factor(step) not in self.found.buffer.strides:
                yield "a factor that is no stride of the tensor's"

    def _bounds(self) -> int:
        """How many of the kernel's arguments the mask hangs on."""
        return len(wrong_mask.bounding(self.trace)) + len(wrong_mask.constexprs(self.launch, self.trace))

    def _extents(self) -> Optional[Origin]:
        """A bound of the mask that is no extent of the tensor, though with one of them the access stays inside."""
        return self._only(self._extent(self._bounding()))

    def _extent(self, steps: Iterable[Step], given: str = kinds.ARGUMENT, kind: str = kinds.EXTENT) -> Iterator[Origin]:
        """Of such bounds each that would explain it."""
        buffer = self.found.buffer
        assert buffer is not None
        own = extents_of(buffer)
        for step in unique(steps):
            if self._giver(step) != given:
                continue
            value = self._seen(step)
            if value is None or value in own:
                continue
            for other in sorted(own, reverse=True):
                if other < value and self.what_if.extent(step, other, self.trace.compared(step)):
                    found = self._given(kind, BOUND, step, value, other)
                    yield replace(found, parameters=found.parameters | wrong_mask.constexprs(self.launch, self.trace))
                    break

    def _offsets(self) -> Optional[Origin]:
        """An argument or a literal that by itself leads beyond the tensor; or that of a view which begins there."""
        buffer = self.found.buffer
        assert buffer is not None
        for step in unique(self.trace.leaves()) if buffer.at else ():
            if step.kind == kinds.ARGUMENT and step.role == TERM and step.scalar is not None:
                begin = step.scalar * (self.what_if.factor(step) or 0) * buffer.width
                if begin == buffer.at and self.what_if.inside({step: 0}):
                    return replace(self._given(kinds.OFFSET, TERM, step, step.scalar), detail="twice")
        for step in unique(self.trace.leaves()):
            if step.kind in (kinds.ARGUMENT, kinds.CONSTANT) and step.role == TERM and self.what_if.alone_beyond(step):
                value = step.scalar
                return self._given(kinds.OFFSET, TERM, step, *([] if value is None else [value]))
        return self._product()

    def _product(self) -> Optional[Origin]:
        """The same of a product of such values: the number of a row, and how long one is."""
        assert self.found.buffer is not None
        own = own_strides(self.found.buffer)
        for step in self.trace.steps:
            leaves = self.trace.below(step) if step.op is not None and step.op.name == "arith.muli" else []
            given = [leaf for leaf in leaves if leaf.kind == kinds.ARGUMENT]
            if given and all(leaf.kind in (kinds.ARGUMENT, kinds.CONSTANT) for leaf in leaves):
                if step.role == TERM and self.what_if.alone_beyond(step):
                    leaf = next((each for each in (*given, *leaves) if each.scalar not in own), given[0])
                    value = leaf.scalar
                    return self._given(kinds.OFFSET, TERM, leaf, *([] if value is None else [value]))
        return None

    # What is there

    def _given(self, kind: str, role: str, step: Step, *value: int) -> Origin:
        """A value that the kernel was given, and the one that it should have been."""
        given, constant = frozenset([self._giver(step)]), wrong_mask.constexpr(self.launch, step)
        name, behind = constant or step.name, parameters_behind(step).union([constant] if constant else [])
        return Origin(kind, role=role, inputs=given, op=step.op, value=value, name=name, parameters=behind)

    def _giver(self, step: Step) -> str:
        """What a value comes from."""
        return kinds.ARGUMENT if wrong_mask.constexpr(self.launch, step) else step.kind

    def _bounding(self) -> List[Step]:
        """What may be an extent: not what only multiplies an index, as the size of a block does."""
        bounds = {leaf.name for side in self.trace.bounds() for leaf in self.trace.below(side)}
        found = [step for step in self.trace.leaves() if step.role == BOUND]
        return [step for step in found if step.name in bounds or not self._multiplies_index(step)]

    def _multiplies_index(self, step: Step) -> bool:
        others = self.trace.beside(step, "arith.muli")
        return any(leaf.kind in kinds.INDICES for side in others for leaf in side)

    def _address_leaves(self) -> List[Step]:
        return [step for step in self.trace.leaves() if step.role in (TERM, FACTOR)]

    def _seen(self, step: Step) -> Optional[int]:
        """What it is in the lane that was looked at."""
        value = step.value(self.found.lane)
        return value[0] if value is not None else None


def _behind(steps: Iterable[Step]) -> Iterator[str]:
    """The indices that say which elements were loaded, see `Cause.indices`."""
    loaded = {
        (id(leaf.frame), leaf.name): leaf for step in steps for leaf in behind_of(step) if leaf.kind == kinds.LOADED
    }
    count: Dict[str, int] = {}
    for leaf in loaded.values():
        if leaf.op is not None:
            address = [each for each in Trace(leaf.frame, leaf.env, leaf.op).leaves() if each.role in (TERM, FACTOR)]
            for index in {each.index for each in address} - {""}:
                count[index] = count.get(index, 0) + 1
                yield "%s behind loaded value %d" % (index, count[index])


def leaves_of(found: Found) -> Tuple[Step, ...]:
    """What the condition of an assertion, or a divisor, hangs on."""
    note = found.note
    operand = note.op.operands()[1:2] if note.op.name in DIVISIONS else note.op.operands()[:1]
    return tuple(Trace(note.frame, note.env, note.op, operand).leaves())
