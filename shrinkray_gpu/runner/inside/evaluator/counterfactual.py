"""What one access of a launch would do if a value were another one. Each question is run on the whole launch.

That an access is inside with another value explains little by itself: with any small one it is. A stride explains it
where the index that it multiplies fits the dimension which has that stride, or the access then ends where the tensor
does; an extent only where it then ends there.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Dict, FrozenSet, Iterable, List, Optional, Set, Tuple

from ..static import cause as kinds
from .access import Reach, at, reach
from .launch import INSIDE, OUTSIDE, Found, LaunchedKernel, Look, happens, is_wholly_outside, look
from .machine import PROGRAM_AXES
from .memory import Address, Buffer
from .numbers import ALL, Algebra, Unfollowed, wrapped
from .trace import Step
from .types import extents, signature

Values = Dict[Step, int]


@dataclass(frozen=True)
class Counterfactual:
    """`found`: an access of the launch that is outside. `seen`: the look that found it."""

    launch: LaunchedKernel
    seen: Look
    found: Found
    looks: Dict[object, Look] = field(default_factory=dict)
    """By what was another value in them."""

    def inside(self, values: Values) -> bool:
        """Whether with these values the access still happens and is inside, in the whole launch, and no other one
        that they change leaves its tensor. In a function that is called several times, be it in each call or in the
        one alone that led to the access: what is passed there becomes a literal if it is 1."""
        if self._inside(values, alone=False):
            return True
        return any(step.frame.path for step in values) and self._inside(values, alone=True)

    def _inside(self, values: Values, alone: bool) -> bool:
        again, path = self._look(values, alone), self.found.note.frame.path
        outside = {(id(each.op), id(each.note.frame.function), each.offset) for each in self.seen.outside}
        for each in again.accesses:
            own = each.op is self.found.op and (not alone or each.note.frame.path == path)
            if own and (each.state != INSIDE or not happens(each)):
                return False
            if each.state == OUTSIDE and (id(each.op), id(each.note.frame.function), each.offset) not in outside:
                return False
        return True

    def strides(self, values: Values, indices: Iterable[Step]) -> bool:
        """Whether these strides of the tensor, in place of what is passed, explain the access. `indices`: all that its
        address has."""
        if not self.inside(values):
            return False
        fits = all(self._fits(step, stride) for step, stride in values.items()) and not self.leaving(indices, values)
        return fits or self._ends_with_tensor(values, 1)

    def extent(self, step: Step, extent: int, indices: Iterable[Step] = ()) -> bool:
        """The same of an extent of the tensor, or of the number of its elements. `indices`: what is compared with this
        bound; an extent of another dimension than theirs explains nothing."""
        buffer = self._buffer
        factors = [abs(factor) for factor in map(self.factor, indices) if factor]
        if factors:
            own = max((stride for stride in buffer.strides if stride <= min(factors)), default=1)
            extents = {n for n, stride in zip(buffer.shape, buffer.strides) if stride == own}
            if extent not in extents | {count_of(buffer)}:
                return False
        row = max((stride for n, stride in zip(buffer.shape, buffer.strides) if n == extent), default=1)
        return self.inside({step: extent}) and self._ends_with_tensor({step: extent}, row)

    def alone_beyond(self, step: Step) -> bool:
        """Whether what this value adds to the address is more than the whole tensor, and without it the same lane is
        inside."""
        value = step.value(self.found.lane)
        again = self._same({step: 0}) if value is not None and value[0] else None
        address = again.note.subject if again is not None else None
        if not isinstance(address, Address) or isinstance(address.offset, Unfollowed):
            return False
        offset = at(wrapped(address.offset), self.found.lane)
        if offset is None:
            return False
        added = self.found.offset - offset
        more = added + self._buffer.at >= self._buffer.size or added <= -self._buffer.size
        return more and 0 <= offset < self._buffer.size

    def inside_with_fewer(self) -> bool:
        """Whether the access is inside in a grid that is one less along one axis, whichever call leads to it."""
        if not is_wholly_outside(self.found):
            return False
        grid = self.launch.grid
        smaller = (tuple(n - (at == axis) for at, n in enumerate(grid)) for axis in range(3) if grid[axis] > 1)
        looks = (look(replace(self.launch, grid=each)) for each in smaller)  # type: ignore[arg-type]
        return any({each.state for each in again.accesses if each.op is self.found.op} == {INSIDE} for again in looks)

    def beyond(self, indices: Iterable[Step]) -> FrozenSet[Step]:
        """The indices that leave a dimension of the tensor in the lane that was found: of `row * 64 + column` the
        column, though the row may be the last. Empty where none does, or nobody knows."""
        return frozenset().union(*self.leaving(indices).values())

    def leaving(self, indices: Iterable[Step], values: Optional[Values] = None) -> Dict[int, Set[Step]]:
        """The same, by the extent of the dimension, with these values. Where a loop leads beyond it by itself, only its
        trip: of `x + trip * 32 + lane` the lane may be any."""
        buffer = self._buffer
        strides = sorted({stride: n for n, stride in zip(buffer.shape, buffer.strides)}.items(), reverse=True)
        reached: Dict[int, int] = {}
        by_trips: Dict[int, int] = {}
        of: Dict[int, Set[Step]] = {}
        given = list(indices)
        one_loop = sum(step.kind == kinds.TRIP for step in given) == 1
        for step in given:
            value, factor = step.value(self.found.lane), self.factor(step, values)
            if value is None or factor is None:
                return {}
            moved = factor * value[0]
            if step.kind == kinds.TRIP and not factor and one_loop:
                factor, moved = self._growth(values)
            own = self._own_stride(factor)
            if own:
                reached[own] = reached.get(own, 0) + moved
                by_trips[own] = by_trips.get(own, 0) + moved * (step.kind == kinds.TRIP)
                of.setdefault(own, set()).add(step)
        left = {n: stride for stride, n in strides if reached.get(stride, 0) >= stride * n}
        trips = {n for n, stride in left.items() if by_trips[stride] >= stride * n}
        return {
            n: {step for step in of[stride] if n not in trips or step.kind == kinds.TRIP} for n, stride in left.items()
        }

    def only_last_trip(self, extents: Iterable[int]) -> bool:
        """Whether a pointer that a loop carries leaves these dimensions in its last trip alone."""
        each, moved = self._growth(None)
        own = self._own_stride(each)
        row = {n * stride for n, stride in zip(self._buffer.shape, self._buffer.strides) if n in extents}
        return bool(own) and any(moved - each < length <= moved for length in row)

    def dimension(self, step: Step) -> str:
        """Which of the tensor's an index runs along; empty where nobody knows."""
        own = self._own_stride(self.factor(step) or 0)
        return str(self._buffer.strides.index(own)) if own else ""

    def _own_stride(self, factor: int) -> int:
        """The longest of the tensor that is no longer than this; 0: none."""
        return max((stride for stride in self._buffer.strides if 0 < stride <= factor), default=0)

    def factor(self, step: Step, values: Optional[Values] = None) -> Optional[int]:
        """Elements by which the access moves with this value, where others are these."""
        one, none = (self._reach({**(values or {}), step: n}) for n in (1, 0))
        return None if one is None or none is None else (one.high - none.high) // self._buffer.width

    def _growth(self, values: Optional[Values]) -> Tuple[int, int]:
        """Elements by which a pointer that a loop carries has moved: in each trip, and up to the lane that was found.
        Zeros where nobody knows."""
        found, lane = self._same(values or {}), self.found.lane
        address = found.note.subject if found is not None else None
        own = len(extents(signature(self.found.note.op.body))) + PROGRAM_AXES
        trips = [place for axis, place in lane.items() if axis > own]
        if not isinstance(address, Address) or isinstance(address.offset, Unfollowed):
            return 0, 0
        if len(trips) != 1 or not trips[0]:
            return 0, 0
        first = {axis: place for axis, place in lane.items() if axis <= own}
        now, before = (at(wrapped(address.offset), each) for each in (lane, first))
        moved = ((now or 0) - (before or 0)) // self._buffer.width
        return moved // trips[0], moved

    @property
    def _buffer(self) -> Buffer:
        assert self.found.buffer is not None
        return self.found.buffer

    def _fits(self, step: Step, stride: int) -> bool:
        """Whether the index that this value multiplies stays below the extent of the dimension of that stride."""
        index = self.factor(step)
        return index is not None and any(
            0 <= index < n for n, own in zip(self._buffer.shape, self._buffer.strides) if own == stride
        )

    def _ends_with_tensor(self, values: Values, slack: int) -> bool:
        """Whether the access comes to fewer than `slack` elements from the last one of the tensor."""
        buffer, reached = self._buffer, self._reach(values)
        last = sum((n - 1) * stride for n, stride in zip(buffer.shape, buffer.strides))
        return reached is not None and reached.high > buffer.at + (last - slack) * buffer.width

    def _reach(self, values: Values) -> Optional[Reach]:
        found = self._same(values)
        address = found.note.subject if found is not None else None
        if found is None or not isinstance(address, Address) or isinstance(address.offset, Unfollowed):
            return None
        mask = 1 if isinstance(found.note.mask, Unfollowed) else found.note.mask
        return reach(Algebra(ALL), wrapped(address.offset), mask)

    def _same(self, values: Values) -> Optional[Found]:
        """The access in the look with these values."""
        function = self.found.note.frame.function
        same: List[Found] = [each for each in self._look(values).accesses if each.op is self.found.op]
        return next((each for each in same if each.note.frame.function is function), None)

    def _look(self, values: Values, alone: bool = False) -> Look:
        paths = {step: step.frame.path if alone else None for step in values}
        asked = frozenset((id(step.function), step.name, paths[step], value) for step, value in values.items())
        if asked not in self.looks:
            overrides = {(step.function, step.name, paths[step]): value for step, value in values.items()}
            self.looks[asked] = look(self.launch, overrides=overrides)
        return self.looks[asked]


def extents_of(buffer: Buffer) -> Set[int]:
    """The extents of a tensor, and the number of its elements."""
    return {*buffer.shape, count_of(buffer)}


def count_of(buffer: Buffer) -> int:
    """The elements of a tensor."""
    count = 1
    for n in buffer.shape:
        count *= n
    return count
