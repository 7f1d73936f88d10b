"""Loops of the IR: all trips at once where what is carried grows evenly, else one after another."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Optional, Tuple

import torch

from ..static.ttgir import Op
from . import shapes
from .access import reach
from .machine import PROGRAM_AXES, SEQUENTIAL, Machine
from .memory import Address, BlockPointer
from .module import Loop
from .numbers import Lanes, Number, Pair, Sum, TooLarge, Unfollowed, exact, pair, wrapped
from .types import result_ranks

NOT_NEEDED = Unfollowed("nothing hangs on it")
RING = 16
"""Trips after which a carried value must come back to one that it had, to be found to go round."""
TRIPS = 8192
"""Trips that are run side by side; of more, those at both ends."""


def run_for(machine: Machine, op: Op) -> None:
    """A `scf.for`."""
    loop = machine.frame.function.loops[id(op)]
    if not loop.known:
        machine.set(op)
        return
    low, high, step = (wrapped(machine.get(name)) for name in (loop.low, loop.high, loop.step))
    carried = {name: machine.get(start) for name, start in zip(loop.names, loop.initial)}
    needed = [name for name in loop.names if machine.wants(name)]
    unknown = next((value.why for value in (low, high, step) if isinstance(value, Unfollowed)), "")
    if unknown or not isinstance(step, int) or step < 0 and op.body.startswith("unsigned"):
        _uncertain(machine, op, loop, carried, needed, unknown or "a loop of unknown step")
        return
    if step <= 0:
        _without_end(machine, op, loop, carried, needed, (low, high, step))
        return
    trips = _trips(machine, low, high, step)
    most = trips if isinstance(trips, int) else trips.tighten().high
    if most <= 0:
        machine.set(op, *carried.values())
        return
    trial = _Trial(machine)
    machine.trials += 1
    try:
        done = _side_by_side(machine, op, loop, carried, needed, (low, step, trips, most))
    except TooLarge:
        done = False
    machine.trials -= 1
    if not done:
        trial.undo()
        _one_by_one(machine, op, loop, carried, (low, step, trips, most))


def _without_end(
    machine: Machine, op: Op, loop: Loop, carried: Dict[str, Any], needed: List[str], bounds: Tuple[Any, Any, int]
) -> None:
    """A loop whose step leads nowhere: who enters it stays there."""
    low, high, step = bounds
    span = machine.algebra.add(high, machine.algebra.negative(low))
    enters = int(span > 0) if isinstance(span, int) else machine.algebra.elementwise(torch.gt, span, 0, (0, 1))
    entered = machine._conjoined(machine.active, enters)
    where = entered.bound if isinstance(entered, Unfollowed) else entered
    if where is not None and reach(machine.algebra, 0, where) is None:
        machine.set(op, *carried.values())
        return
    why = "a loop of step %d never ends" % step
    if not isinstance(entered, Unfollowed):
        machine.hazard = machine.hazard or why
    machine.doubt = machine.doubt or why
    _uncertain(machine, op, loop, carried, needed, why)


def _trips(machine: Machine, low: Number, high: Number, step: int) -> Any:
    span = machine.algebra.add(high, machine.algebra.negative(low))
    if isinstance(span, int):
        return max(0, -(-span // step))
    lanes = machine.algebra.lanes(span)
    assert isinstance(lanes, Lanes)
    data = torch.div(lanes.data + (step - 1), step, rounding_mode="floor").clamp(min=0)
    return Lanes(data, 0, 0).tighten()


def _side_by_side(
    machine: Machine, op: Op, loop: Loop, carried: Dict[str, Any], needed: List[str], bounds: Any
) -> bool:
    """All trips at once; False where what is carried does not grow evenly."""
    low, step, trips, most = bounds
    ranks = dict(zip(loop.names, result_ranks(op.body)))
    trial = _Trial(machine)
    growth: Dict[str, Any] = {}
    if needed:
        _enter(machine, op, loop, carried, low, _active_in_trip(machine, 0, trips))
        yielded = dict(zip(loop.names, machine.region(op.regions[0])))
        trial.undo()
        for name in needed:
            grown = _difference(machine, yielded.get(name), carried[name])
            if grown is None:
                return False
            growth[name] = grown
    index, whole = _trip_axis(machine, most)
    rings: Dict[str, _Ring] = {}

    def after(name: str, trips: Any) -> Any:
        if name in rings:
            return shapes.raised(rings[name].after(trips), ranks[name])
        return _advanced(machine, carried[name], growth[name], trips, ranks[name]) if name in growth else NOT_NEEDED

    noted, outer = len(machine.notes), machine.active
    while True:
        machine.loops += 1
        try:
            variable = machine.algebra.add(low, machine.algebra.multiply(index, step))
            inside = {name: after(name, index) for name in loop.names}
            _enter(machine, op, loop, inside, variable, _active_in_trip(machine, index, trips))
            yielded = dict(zip(loop.names, machine.region(op.regions[0])))
        finally:
            machine.loops -= 1
            machine.active = outer
        following = machine.algebra.add(index, 1)
        uneven = [name for name in needed if not _equal(machine, yielded.get(name), after(name, following))]
        if not uneven:
            break
        trial.undo()
        rings = {} if rings else _rings(machine, op, loop, carried, uneven, bounds)
        if not rings:
            return False
    if not whole and len(machine.notes) > noted:
        machine.sampled = True
    machine.set(op, *[after(name, trips) for name in loop.names])
    return True


class _Ring:
    """Integers that a carried value takes in turn: after the last one comes that at `again`."""

    def __init__(self, values: List[int], again: int) -> None:
        self.values, self.again = values, again

    def after(self, trips: Any) -> Any:
        count, again = len(self.values), self.again
        data = torch.tensor(trips) if isinstance(trips, int) else trips.data
        at = torch.where(data < count, data, again + (data - again) % (count - again))
        found = torch.tensor(self.values)[at]
        return Lanes(found, min(self.values), max(self.values)) if found.dim() else int(found)


def _rings(
    machine: Machine, op: Op, loop: Loop, carried: Dict[str, Any], names: List[str], bounds: Any
) -> Dict[str, _Ring]:
    """Of these carried values, the integers that they seem to take in turn; empty where one does not seem to."""
    low, step, _, most = bounds
    trial, outer = _Trial(machine), machine.active
    taken: Dict[str, List[int]] = {name: [] for name in names}
    state, found = dict(carried), {}
    for trip in range(min(most, RING) + 1):
        for name in [name for name in names if name not in found]:
            value = state.get(name)
            if isinstance(value, int) and value in taken[name]:
                found[name] = _Ring(taken[name], taken[name].index(value))
            elif isinstance(value, int):
                taken[name].append(value)
            else:
                trial.undo()
                return {}
        if len(found) == len(names):
            break
        _enter(machine, op, loop, state, machine.algebra.add(low, trip * step), machine.active)
        state = dict(zip(loop.names, machine.region(op.regions[0])))
        machine.active = outer
    trial.undo()
    return found if len(found) == len(names) else {}


def _enter(machine: Machine, op: Op, loop: Loop, carried: Dict[str, Any], variable: Any, active: Any) -> None:
    del op
    machine.define(loop.variable, variable)
    for name, value in carried.items():
        machine.define(name, value)
    machine.active = machine._conjoined(machine.active, active)


class _Trial:
    """A run of a region that can be taken back."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        said = (machine.doubt, machine.hazard, machine.active, machine.sampled, machine.conditions)
        self.state = (dict(machine.frame.env), len(machine.notes), said)

    def undo(self) -> None:
        """As if the region had not been run."""
        machine = self.machine
        env, noted, said = self.state
        machine.doubt, machine.hazard, machine.active, machine.sampled, machine.conditions = said
        machine.frame.env = dict(env)
        del machine.notes[noted:]


def _trip_axis(machine: Machine, most: int) -> Any:
    """The number of each trip along an axis of its own, and whether those are all."""
    if most == 1:
        return 0, True
    if most <= TRIPS:
        index, whole = torch.arange(most), True
    else:
        half = TRIPS // 2
        index, whole = torch.cat((torch.arange(half), torch.arange(most - half, most))), False
    shape = (len(index),) + (1,) * (PROGRAM_AXES + machine.loops)
    return Lanes(index.reshape(shape), 0, most - 1, tight=True), whole


def _active_in_trip(machine: Machine, index: Any, trips: Any) -> Any:
    """Which program instances make this trip."""
    if isinstance(trips, int):
        return 1
    if isinstance(index, int) and trips.low > index:
        return 1
    return machine.algebra.elementwise(torch.lt, index, trips, (0, 1))


def _difference(machine: Machine, after: Any, before: Any) -> Any:
    """By how much a carried value grows in a trip: a number; for an address in bytes; None where it does not so."""
    if after is before:
        return 0
    if isinstance(after, Address) and isinstance(before, Address) and after.buffer == before.buffer:
        return _difference(machine, after.offset, before.offset)
    if isinstance(after, BlockPointer) and isinstance(before, BlockPointer):
        steps = [_difference(machine, a, b) for a, b in zip(after.offsets, before.offsets)]
        return None if any(step is None for step in steps) else steps
    if isinstance(before, Unfollowed):
        return 0
    kinds = (int, Lanes, Sum, Pair)
    if not isinstance(after, kinds) or not isinstance(before, kinds):
        return None
    if any(isinstance(view, Lanes) and view.data.dtype == torch.bool for view in (wrapped(after), wrapped(before))):
        return None
    return _simplified(machine.algebra.add(exact(after), machine.algebra.negative(exact(before))))


def _simplified(value: Number) -> Number:
    """An int where all lanes have the same."""
    if isinstance(value, Sum) and all(term.tighten().low == term.high for term in value.terms):
        return value.constant + sum(term.low for term in value.terms)
    if isinstance(value, Lanes) and value.tighten().low == value.high:
        return value.low
    return value


def _advanced(machine: Machine, value: Any, growth: Any, times: Any, rank: int) -> Any:
    """A carried value, a block of so many dimensions, after so many trips."""
    if isinstance(value, Unfollowed) or isinstance(growth, int) and growth == 0:
        return value
    if isinstance(value, Address):
        return Address(value.buffer, _advanced(machine, value.offset, growth, times, rank))
    if isinstance(value, BlockPointer):
        offsets = [_advanced(machine, offset, each, times, 0) for offset, each in zip(value.offsets, growth)]
        return BlockPointer(value.base, value.shape, value.strides, offsets, value.block)
    grown = machine.algebra.multiply(growth, shapes.raised(times, rank))
    as_computed = machine.algebra.add(wrapped(value), grown)
    return pair(as_computed, machine.algebra.add(exact(value), grown)) if isinstance(value, Pair) else as_computed


def _equal(machine: Machine, one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, Unfollowed) and isinstance(other, Unfollowed):
        return True
    difference = _difference(machine, one, other)
    if isinstance(difference, list):
        return all(isinstance(each, int) and each == 0 for each in difference)
    return isinstance(difference, int) and difference == 0


def _one_by_one(machine: Machine, op: Op, loop: Loop, carried: Dict[str, Any], bounds: Any) -> None:
    low, step, trips, most = bounds
    ranks = dict(zip(loop.names, result_ranks(op.body)))
    outer = machine.active
    for trip in range(min(most, SEQUENTIAL)):
        active = _active_in_trip(machine, trip, trips)
        _enter(machine, op, loop, carried, machine.algebra.add(low, trip * step), active)
        handed = dict(zip(loop.names, machine.region(op.regions[0])))
        machine.active = outer
        for name in loop.names:
            if machine.wants(name):
                carried[name] = machine.choose(active, handed.get(name, NOT_NEEDED), carried[name], ranks[name])
    if most > SEQUENTIAL:
        machine.doubt = machine.doubt or "a loop of %d trips" % most
        carried = {name: Unfollowed("a loop of many trips") for name in carried}
    machine.set(op, *carried.values())


def _uncertain(machine: Machine, op: Op, loop: Loop, carried: Dict[str, Any], needed: List[str], why: str) -> None:
    """A loop of an unknown number of trips: what it carries unchanged is known in all of them, the rest in none."""
    trial = _Trial(machine)
    outer = machine.active
    bound = outer.bound if isinstance(outer, Unfollowed) else outer
    _enter(machine, op, loop, carried, Unfollowed(why), Unfollowed(why, bound))
    yielded: Dict[str, Any] = dict(zip(loop.names, machine.region(op.regions[0])))
    trial.undo()
    kept = {
        name: value if name in needed and _equal(machine, yielded.get(name), value) else Unfollowed(why)
        for name, value in carried.items()
    }
    _enter(machine, op, loop, kept, Unfollowed(why), Unfollowed(why, bound))
    machine.region(op.regions[0])
    machine.active = outer
    machine.set(op, *kept.values())


def run_while(machine: Machine, op: Op) -> None:
    """A `scf.while`, trip by trip until no program instance goes on."""
    pairs = re.findall(r"(%[\w.$-]+) = (%[\w.$#-]+)", op.body)
    values: Dict[str, Any] = {name: machine.get(start) for name, start in pairs}
    outer: Any = machine.active
    going: Any = 1
    final: Optional[List[Any]] = None
    of = result_ranks(op.body)
    for _ in range(SEQUENTIAL):
        for name, value in values.items():
            machine.define(name, value)
        machine.active = machine._conjoined(outer, going)
        condition, *handed = machine.region(op.regions[0]) or [Unfollowed("a loop without a condition")]
        final = handed if final is None else machine._merged(going, handed, final, of)
        if isinstance(condition, Unfollowed):
            machine.active = Unfollowed(
                condition.why, machine.active if not isinstance(machine.active, Unfollowed) else None
            )
            _body(machine, op, [Unfollowed(condition.why) for _ in handed])
            final = [Unfollowed(condition.why) for _ in handed]
            break
        going = machine._conjoined(going, condition)
        if not isinstance(going, (int, Unfollowed)):
            lanes = machine.algebra.lanes(going)
            going = going if not isinstance(lanes, Lanes) or bool(lanes.data.any()) else 0
        if isinstance(going, int) and not going:
            break
        machine.active = machine._conjoined(outer, going)
        values = dict(zip(values, _body(machine, op, handed)))
    else:
        machine.doubt = machine.doubt or "a loop that goes on"
        final = [Unfollowed("a loop that goes on") for _ in final or []]
    machine.active = outer
    machine.set(op, *(final or []))


def _body(machine: Machine, op: Op, handed: List[Any]) -> List[Any]:
    body = op.regions[1]
    for name, value in zip(body.blocks[0].args, handed):
        machine.define(name, value)
    return machine.region(body)
