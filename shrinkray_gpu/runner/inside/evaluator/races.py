"""Races: two program instances touch one place of a tensor, one of them by a plain store, with nothing to order them.

Nobody orders program instances but atomic operations whose results are looked at, and what we cannot read. Where a
kernel has such, no race is told of it. Two stores of the same value do no harm (`stored.py`).
"""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass, replace
from typing import Any, Dict, FrozenSet, List, NamedTuple, Optional, Sequence, Set, Tuple

import torch

from ..static import cause as kinds
from ..static.cause import Cause, Evaluation
from ..static.ttgir import VALUE, Op
from .access import can_be_false
from .causes import place_of
from .launch import LaunchedKernel, Look, look
from .memory import Buffer
from .module import Module
from .numbers import LIMIT, TooLarge
from .operations import NOTING_ALL
from .stored import StoredValues
from .touches import ATOMIC, LOAD, STORE, Programs, Touch, are_apart, kind_of, lane_of, lanes, places, touches
from .trace import FACTOR, TERM, Step, Trace, behind, inputs_of, parameters_behind

MOST = 8
"""Races of one tensor that are told."""
TRIED = 64
"""Places at which an example is looked for."""
_WRITTEN = re.compile(r"^(?:dense<)?(-?\d[\d.]*(?:[eE][+-]?\d+)?)>? :")
"""The number in `arith.constant`."""
_FAMILIAR = ("arith.", "math.", "scf.", "cf.", "ub.", "tt.", "llvm.intr.assume", "gpu.barrier", "ttg.barrier")
TOO_MANY = "too many lanes to compare program instances"


@dataclass(frozen=True)
class Race:
    """Two accesses in no order: `first` is no load. The program instances by number, in which they touch a byte of the
    storage. `at_once`: whether the launch's first program instance is one of two that race so. `both`: whether the
    other program instance does there what `first` does, too: of an update, that one of two is lost."""

    first: Touch
    other: Touch
    ours: int
    theirs: int
    programs: Programs
    byte: int
    at_once: bool
    both: bool


def evaluate(launch: LaunchedKernel) -> Evaluation:
    """The races of a launch, and why there may be others."""
    if math.prod(launch.grid) <= 1:
        return Evaluation()
    launch = replace(launch, written=_written(launch), once=frozenset())
    seen = look(launch, handlers=NOTING_ALL)
    found, elsewhere = touches(launch, seen.machine)
    storages: Dict[int, List[Touch]] = {}
    for each in found:
        storages.setdefault(each.buffer.storage, []).append(each)
    written = frozenset(storage for storage, group in storages.items() if any(each.kind != LOAD for each in group))
    unknown = seen.machine.doubt or ("" if seen.whole else "a part of its program instances was looked at")
    unread, order = _unread(seen.module), _order(seen)
    unknown = unknown or unread
    for note in elsewhere:
        if written or kind_of(note.op) != LOAD:
            unknown = unknown or "%s: %s" % (note.op.name, getattr(note.subject, "why", "an unknown pointer"))
    causes: List[Cause] = []
    with torch.no_grad():
        for group in storages.values():
            races, why = _of_storage(group, seen, written)
            unknown = unknown or why
            if races and order:
                unknown = unknown or order
            elif not unread:
                causes += (_cause(launch, seen, race) for race in races)
    return Evaluation(tuple(causes), unknown)


def _written(launch: LaunchedKernel) -> Optional[FrozenSet[int]]:
    """The parameters through which the kernel may write, with all others that share a storage with these."""
    if launch.written is None:
        return None
    buffers = [each for each in launch.arguments if isinstance(each, Buffer) and not each.null]
    storages = {each.storage for each in buffers if each.parameter in launch.written}
    return launch.written.union(each.parameter for each in buffers if each.storage in storages)


def _unread(module: Module) -> str:
    """An operation that may touch or order memory, and nobody here reads; empty if there is none."""
    for op in (op for function in module.functions.values() for op in function.all):
        if op.name == "tt.elementwise_inline_asm" and "pure = true" not in op.body:
            return "%s: it may touch memory" % op.name
        if not op.name.startswith(_FAMILIAR):
            return "%s: it is not followed" % op.name
    return ""


def _order(seen: Look) -> str:
    """What may order program instances: the result of an atomic operation, or of a volatile load, that something looks
    at. What is looked at by nobody orders nothing, since each of two may come first."""
    for function in seen.module.functions.values():
        used: Set[str] = {name for op in function.all for name in VALUE.findall(op.body)}
        for op in function.all:
            atomic = op.name in ("tt.atomic_rmw", "tt.atomic_cas") and "relaxed," not in op.body
            if (atomic or "isVolatile = true" in op.body) and not used.isdisjoint(op.results):
                return "%s: it may order program instances" % op.name
    return ""


def _of_storage(found: List[Touch], seen: Look, written: FrozenSet[int]) -> Tuple[List[Race], str]:
    """The races about one storage, and why there may be others."""
    kind = {each.kind for each in found}
    if STORE not in kind and kind != {ATOMIC, LOAD}:
        return [], ""
    all_programs = Programs.of(seen.machine)
    if are_apart(found, all_programs):
        return [], ""
    anywhere = next((each for each in found if each.offset is None), None)
    known = [each for each in found if each.offset is not None]
    sure = [each for each in known if not each.doubt]
    try:
        races, why = _races(sure, all_programs, written)
        if races:
            return races, why
        if anywhere is not None:
            return [], "%s: %s" % (anywhere.note.op.name, anywhere.doubt)
        if len(sure) < len(known):
            doubtful, why = _races(known, all_programs, written)
            if doubtful:
                unsure = doubtful[0].first if doubtful[0].first.doubt else doubtful[0].other
                return [], "%s: %s" % (unsure.note.op.name, unsure.doubt)
    except TooLarge:
        return [], TOO_MANY
    return [], why


class _Touched(NamedTuple):
    """What one operation touches: by lane the place, the program instance, and which of its touches it is."""

    kind: str
    touches: List[Touch]
    place: Any
    program: Any
    touch: Any


def _races(found: List[Touch], every: Programs, written: FrozenSet[int]) -> Tuple[List[Race], str]:
    """The races among these touches of one storage, and why there may be others; of too many program instances the
    first ones are compared. Raises TooLarge."""
    if not found:
        return [], ""
    programs = every
    while sum(lanes(each, programs) * each.width for each in found) > 4 * LIMIT:
        if programs.count <= 2:
            raise TooLarge
        programs = programs.fewer()
    granule, cells = _cells(found, programs)
    low, high = _ends(torch.cat([place for place, _ in cells]), torch.cat([program for _, program in cells]))
    groups = _groups(found, cells, low, high)
    del low, high
    values = StoredValues(programs, written)
    races: List[Race] = []
    unknown = "" if programs == every else TOO_MANY
    for first, other in itertools.combinations_with_replacement(groups, 2):
        if {first.kind, other.kind} not in ({LOAD}, {ATOMIC}):
            try:
                race = _race(first, other, programs, granule, values if first.kind == other.kind == STORE else None)
            except TooLarge:  # what they store
                unknown = unknown or TOO_MANY
                continue
            if race is not None and first.kind == other.kind == STORE and not _is_shown(race, values):
                unknown = unknown or "%s: two program instances may store the same" % race.first.note.op.name
            elif race is not None:
                races.append(race)
    return sorted(races, key=lambda race: _RANK[race.other.kind])[:MOST], unknown


def _is_shown(race: Race, values: StoredValues) -> bool:
    """Whether two stores do not store the same."""
    touches_of = (race.first, race.ours), (race.other, race.theirs)
    ours, theirs = (lane_of(each, race.programs, program, race.byte) for each, program in touches_of)
    return values.differ(race.first, race.other, (ours, theirs))


_RANK = {LOAD: 0, ATOMIC: 1, STORE: 2}
"""A lost update is told first: the value that is stored hangs on the one that was loaded."""


def _cells(found: Sequence[Touch], programs: Programs) -> Tuple[int, List[Tuple[Any, Any]]]:
    """Of each touch the places and the program instances of its lanes, a place of so many bytes each."""
    raw = [places(each, programs) for each in found]
    granule = 0
    for each in found:
        granule = math.gcd(granule, each.width)
    if any(bool((offset % granule != 0).any()) for offset, _ in raw):
        granule = 1
    out = []
    for each, (offset, program) in zip(found, raw):
        parts = torch.arange(each.width // granule)
        place = torch.div(offset, granule, rounding_mode="floor")[:, None] + parts
        out.append((place.reshape(-1), program[:, None].expand(place.shape).reshape(-1)))
    return granule, out


def _ends(place: Any, value: Any) -> Tuple[Any, Any]:
    """Of each distinct place the least and the greatest value, for each lane."""
    if not len(place):
        return place, place
    keys = place - place.min()
    if int(keys.max()) > 4 * LIMIT:
        keys = torch.unique(keys, return_inverse=True)[1]
    size = int(keys.max()) + 1
    low = torch.full((size,), torch.iinfo(torch.int64).max).scatter_reduce(0, keys, value, "amin")
    high = torch.full((size,), torch.iinfo(torch.int64).min).scatter_reduce(0, keys, value, "amax")
    return low[keys], high[keys]


def _groups(found: Sequence[Touch], cells: Sequence[Tuple[Any, Any]], low: Any, high: Any) -> List[_Touched]:
    """By operation what it touches of the places that more than one program instance touches; stores come first."""
    several = low != high
    groups: Dict[int, List[Tuple[Touch, Any, Any]]] = {}
    begin = 0
    for each, (place, program) in zip(found, cells):
        here = several[begin : begin + len(place)]
        begin += len(place)
        if bool(here.any()):
            groups.setdefault(id(each.note.op), []).append((each, place[here], program[here]))
    out = []
    for parts in groups.values():
        which = torch.cat([torch.full((len(place),), at) for at, (_, place, _) in enumerate(parts)])
        place, program = (torch.cat([part[at] for part in parts]) for at in (1, 2))
        out.append(_Touched(parts[0][0].kind, [part[0] for part in parts], place, program, which))
    return sorted(out, key=lambda group: -_RANK[group.kind])


def _race(
    first: _Touched, other: _Touched, programs: Programs, granule: int, values: Optional[StoredValues]
) -> Optional[Race]:
    """A race between two operations, the one of the lowest place. `values`: where both store, what they do."""
    pair = (first,) if first is other else (first, other)
    place, program = (torch.cat([each[at] for each in pair]) for at in (2, 3))
    low, high = _ends(place, program)
    racing = low != high
    if values is not None:
        stored = [torch.stack([values.numbers(each) for each in group.touches]) for group in pair]
        value = torch.cat([numbers[group.touch, group.program] for numbers, group in zip(stored, pair)])
        least, greatest = _ends(place, value)
        racing &= least != greatest
    else:
        value = torch.arange(len(place))
    split = len(first.place)
    if first is not other:  # both have to be there
        ours = torch.zeros(len(place), dtype=torch.int64)
        ours[split:] = 1
        least, greatest = _ends(place, ours)
        racing &= least != greatest
    at_once = bool((racing & (low == 0)).any())
    least, greatest = _ends(first.place, first.program)
    twice = racing[:split] & (least != greatest)  # where `first` is more than one program instance's
    racing = torch.cat([twice, torch.zeros_like(racing[split:])]) if bool(twice.any()) else racing
    for one in torch.unique(place[racing])[:TRIED].tolist():
        here = (place == one).nonzero().reshape(-1)
        mine = here[here < split]
        theirs = mine if first is other else here[here >= split]
        extremes = (mine[int(which(of[mine]))] for of in (program, value) for which in (torch.argmin, torch.argmax))
        for lane in extremes:  # if any two race here, one of these does
            against = theirs[(program[theirs] != program[lane]) & (value[theirs] != value[lane])]
            alike = torch.isin(program[against], program[mine])
            against = against[alike] if bool(alike.any()) else against
            if len(against):
                match = against[int(program[against].argmin())]
                touch = other.touches[int(other.touch[match - (0 if first is other else split)])]
                numbers = int(program[lane]), int(program[match])
                stores = first.touches[int(first.touch[lane])]
                return Race(stores, touch, *numbers, programs, one * granule, at_once, bool(alike.any()))
    return None


def _cause(launch: LaunchedKernel, seen: Look, race: Race) -> Cause:
    note, other = race.first.note, race.other.note
    traces = [Trace(each.frame, each.env, each.op) for each in ((note,) if note.op is other.op else (note, other))]
    steps = [step for trace in traces for step in trace.steps]
    value = _value(race.first)
    stored = [*value.steps, *(leaf for step in value.leaves() for leaf in behind(step))] if value is not None else []
    inputs = inputs_of(steps)
    if any(step.kind == kinds.PROGRAM for step in stored):
        inputs.add(kinds.PROGRAM)
    updates = value is not None and other.op is not note.op and any(step.op is other.op for step in stored)
    buffer, names = race.first.buffer, note.outermost.function.parameters
    place = place_of(launch, note.op)
    given = [step for step in steps if step.role in (TERM, FACTOR)]
    tensors = [names[each.buffer.parameter].lstrip("%") for each in (race.first, race.other)]
    parameters = {name for step in given for name in parameters_behind(step)}.difference(tensors).union(tensors[1:])
    parameters.discard(tensors[0])
    return Cause(
        kinds.RACE,
        kinds.UNORDERED,
        "%s-%s" % (race.other.kind, race.first.kind),
        TERM,
        tuple(sorted(inputs)),
        race.first.kind,
        note.masked and can_be_false(note),
        exact=True,
        far=kinds.ANYWHERE,
        first=race.at_once,
        always=False,
        detail=_update(value, other.op, race.both) if value is not None and updates else "",
        place=place,
        at=place,
        sentence=_sentence(launch, seen, race),
        tensor=tensors[0],
        shape=buffer.shape,
        strides=buffer.strides,
        parameters=tuple(sorted(parameters)),
    )


def _value(touch: Touch) -> Optional[Trace]:
    """What a store's value is made of; None of an atomic operation's."""
    note = touch.note
    if touch.kind != STORE:
        return None
    name = note.op.operands()[1 if note.op.name == "tt.store" else -1]
    maker = note.frame.function.definitions.get(name, note.op)
    return Trace(note.frame, note.env, maker, [name])


def _update(value: Trace, load: Op, both: bool) -> str:
    """How what is stored hangs on what is loaded: by which arithmetic, where that takes the loaded value itself, and
    changes it. `both`: whether the two program instances update it, so that one of the updates is lost."""
    update = kinds.LOST if both else kinds.UPDATE
    for step in value.steps:
        inputs = value.inputs(step)
        if step.op is not None and step.op.name.startswith("arith.") and len(inputs) > 1:
            how = step.op.name[len("arith.") :].rstrip("fisu")
            for each, others in zip(inputs, (inputs[1:], inputs[:1])):
                while each.op is not load and len(value.inputs(each)) == 1:
                    [each] = value.inputs(each)
                if each.op is load and not any(_is_neutral(how, value.below(other)) for other in others):
                    return "%s by %s" % (update, how)
    return kinds.UPDATE


def _is_neutral(how: str, leaves: Sequence[Step]) -> bool:
    """Whether nothing changes by an operand that is made of these: `x + 0.0`, `x * 1.0`."""
    found = [_WRITTEN.search(leaf.op.body) if leaf.op is not None else None for leaf in leaves]
    neutral = {"add": 0.0, "sub": 0.0, "mul": 1.0, "div": 1.0}.get(how)
    return bool(found) and all(match is not None and float(match[1]) == neutral for match in found)


def _sentence(launch: LaunchedKernel, seen: Look, race: Race) -> str:
    numbers = (race.programs.indices(seen.machine, each) for each in (race.ours, race.theirs))
    ours, theirs = (_instance(launch, each) for each in numbers)
    what = "the %s at %s" % (race.first.kind, place_of(launch, race.first.note.op))
    touch = "touches"
    if race.first.note.op is not race.other.note.op:
        what += " and the %s at %s" % (race.other.kind, place_of(launch, race.other.note.op))
        touch = "touch"
    names = race.first.note.outermost.function.parameters
    buffers = {each.parameter: each for each in (race.first.buffer, race.other.buffer)}
    elements = [
        "element %d of %s" % ((race.byte - each.at) // each.width, names[each.parameter].lstrip("%"))
        for each in buffers.values()
    ]
    return "%s %s %s in program instances %s and %s, in no order" % (
        what, touch, ", which is ".join(elements), ours, theirs,
    )  # fmt: skip


def _instance(launch: LaunchedKernel, index: Tuple[int, int, int]) -> str:
    """By its program ids, as far as the grid has axes."""
    axes = 1 + max(at for at, count in enumerate(launch.grid) if at == 0 or count > 1)
    return str(index[0]) if axes == 1 else "(%s)" % ", ".join(map(str, index[:axes]))
