"""Which parameters of a kernel it may write through, and which it may read: after a launch, only what it may have
written is unknown.

Followed over the TTIR: from pointer parameters through every operation but loads, to the accesses. In whatever order
these run; so it may name too many, never too few.
"""

from __future__ import annotations

import functools
import re
from typing import Dict, FrozenSet, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from .ttgir import VALUE, IrRegion, Op, parameters, parse

Value = Tuple[int, str]
"""A name, and the region that it is made in: other regions have other values of that name."""
Names = Dict[str, Value]

_LOADS = (
    "tt.load",
    "tt.descriptor_load",
    "tt.descriptor_gather",
    "tt.experimental_descriptor_load",
)
_STORES = ("tt.store", "tt.descriptor_store", "tt.experimental_descriptor_store")
_ATOMICS = ("tt.atomic_rmw", "tt.atomic_cas")
_ASKS = ("tt.print", "tt.assert")
_HARMLESS = ("arith.", "math.", "scf.", "cf.", "ub.")
_MOVES = (
    "tt.addptr tt.advance tt.bitcast tt.broadcast tt.cat tt.dot tt.expand_dims tt.func tt.get_program_id "
    "tt.int_to_ptr tt.join tt.make_range tt.make_tensor_descriptor tt.make_tensor_ptr tt.ptr_to_int tt.reduce "
    "tt.reduce.return tt.reinterpret_tensor_descriptor tt.reshape tt.return tt.scan tt.scan.return tt.splat "
    "tt.split tt.trans tt.unsplat"
).split()
_CARRIED = re.compile(r"(%[\w.$-]+) = (%[\w.$-]+(?:#\d+)?)")
"""In a loop's head: a name within it, and what that begins with."""


class Touched(NamedTuple):
    """Indices of the kernel's parameters."""

    stored: FrozenSet[int]
    loaded: FrozenSet[int]
    once: FrozenSet[int]
    """Of those stored, the ones that one operation alone may write through, which no loop is around."""


def stored_parameters(ttir: str) -> Optional[FrozenSet[int]]:
    """Indices of the kernel's parameters that it may write through; None if that cannot be told."""
    touched = touched_parameters(ttir)
    return touched.stored if touched is not None else None


@functools.lru_cache(maxsize=64)
def touched_parameters(ttir: str) -> Optional[Touched]:
    """The parameters that the kernel may write or read through; None if that cannot be told."""
    functions = parse(ttir)
    if len(functions) != 1:  # a call carries pointers out of sight
        return None
    function = next(iter(functions.values()))
    flow = _Dataflow(function)
    reached = {i: flow.reached((0, name)) for i, name in enumerate(_pointers(function)) if name}
    stores: List[Tuple[Set[int], bool]] = []
    loaded: Set[int] = set()
    for access in flow.accesses:
        through = {i for i, values in reached.items() if not values.isdisjoint(access.through)}
        if access.op.name == "tt.int_to_ptr":
            if not through:
                return None
            continue
        if access.op.name not in _STORES:
            loaded |= through
        if access.op.name not in _LOADS:
            stores.append((through, access.looped))
    written = [index for through, _ in stores for index in through]
    often = {index for through, looped in stores for index in through if looped or written.count(index) > 1}
    return Touched(frozenset(written), frozenset(loaded), frozenset(written) - often)


def _pointers(function: Op) -> List[str]:
    """The parameter's name where it is a pointer or a descriptor, else an empty string."""
    text = function.body
    return [
        n if text.partition(n + ": ")[2].startswith(("!tt.ptr", "!tt.tensordesc")) else "" for n in parameters(function)
    ]


class _Access(NamedTuple):
    op: Op
    through: List[Value]
    looped: bool
    """Whether a loop is around it."""


class _Dataflow:
    """Which values go into which, and the operations that access memory, or make a pointer of a number."""

    def __init__(self, function: Op) -> None:
        self.accesses: List[_Access] = []
        self._into: Dict[Value, Set[Value]] = {}
        around = {name: (0, name) for name in parameters(function)}
        for region in function.regions:
            self._region(region, around, (), False)

    def reached(self, start: Value) -> Set[Value]:
        seen, todo = {start}, [start]
        while todo:
            new = self._into.get(todo.pop(), set()) - seen
            seen |= new
            todo += new
        return seen

    def _flows(self, given: Iterable[Value], into: Sequence[Value]) -> None:
        for value in given:
            self._into.setdefault(value, set()).update(into)

    def _one_by_one(self, given: Sequence[Value], into: Sequence[Value]) -> None:
        if len(given) != len(into):  # printed in a way that is not known here
            self._flows(given, into)
        for value, other in zip(given, into):
            self._flows([value], [other])

    def _region(self, region: IrRegion, around: Names, brought: Iterable[str], looped: bool) -> Names:
        """What is in a region, which sees the values around it; the values that are seen there."""
        names = {**around, **{name: (id(region), name) for name in brought}}
        for block in region.blocks:
            names.update((name, (id(region), name)) for name in block.args)
            names.update((name, (id(region), name)) for op in block.ops for name in op.results)
        entered = [names[name] for block in region.blocks if block.label for name in block.args]
        for block in region.blocks:
            for op in block.ops:
                if op.regions:
                    self._nest(op, names, looped)
                elif op.name.startswith("cf."):
                    self._flows(_named(VALUE.findall(op.body), names), entered)
                self._op(op, names, looped)
        return names

    def _op(self, op: Op, names: Names, looped: bool) -> None:
        given = _named(op.operands(), names)
        known = op.name in _LOADS + _STORES + _ATOMICS
        if op.name in _ASKS:
            return
        if known or op.name == "tt.int_to_ptr" or not (op.name in _MOVES or op.name.startswith(_HARMLESS)):
            # A store writes through its first operand; of an operation unknown here, any may be accessed through.
            one = op.name in _STORES + _ATOMICS
            self.accesses.append(_Access(op, given[:1] if one else given, looped))
        if not (known or op.regions):  # what a load and an atomic operation give back is a number
            self._flows(given, _named(op.results, names))

    def _nest(self, op: Op, names: Names, looped: bool) -> None:
        """What goes into the regions of an operation, round them, and out of them."""
        loops = op.name in ("scf.for", "scf.while")
        heads = _CARRIED.findall(op.body) if loops else []
        first = [inner for inner, _ in heads]
        seen = [
            self._region(region, names, () if number else first, looped or loops)
            for number, region in enumerate(op.regions)
        ]
        ends = [
            _named(each.operands(), inside)
            for region, inside in zip(op.regions, seen)
            for each in region.blocks[-1].ops[-1:]
            if each.name.endswith(("yield", "return", "condition"))
        ]
        results = _named(op.results, names)
        begins = _named([outer for _, outer in heads], names)
        carried = _named(first, seen[0])
        self._one_by_one(begins, carried)
        if op.name == "scf.for":
            for end in (begins[1:], *ends):  # the first is the counter
                self._one_by_one(end, results)
                self._one_by_one(end, carried[1:])
        elif op.name == "scf.if":
            for end in ends:
                self._one_by_one(end, results)
        elif op.name == "scf.while" and len(ends) == 2:
            self._one_by_one(ends[0][1:], results)
            self._one_by_one(ends[0][1:], _named(op.regions[1].blocks[0].args, seen[1]))
            self._one_by_one(ends[1], carried)
        else:
            inner = [value for region, inside in zip(op.regions, seen) for value in _arguments(region, inside)]
            given = [*_named(VALUE.findall(op.body), names), *(value for end in ends for value in end)]
            self._flows(given, [*results, *inner])


def _arguments(region: IrRegion, names: Names) -> List[Value]:
    return [names[name] for block in region.blocks for name in block.args]


def _named(texts: Iterable[str], names: Names) -> List[Value]:
    return [names.get(text, (0, text)) for text in texts]
