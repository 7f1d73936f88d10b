"""Which parameters of a kernel it may write through, and which it may read: after a launch, only what it may have
written is unknown.

A taint over the TTIR: from pointer parameters through every operation but loads, to the accesses. Flow-insensitive, and
a name used in two regions counts for both; so it may name too many, never too few.
"""

from __future__ import annotations

import functools
from typing import Dict, FrozenSet, Iterator, List, NamedTuple, Optional, Set, Tuple

from .ttgir import VALUE, IrRegion, Op, parameters, parse

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
    taint: Dict[str, Set[int]] = {name: {i} for i, name in enumerate(_pointers(function)) if name}
    stores: Dict[int, Set[int]] = {}
    loaded: Set[int] = set()
    ops = list(_walk(function))
    while True:
        before = sum(len(s) for s in taint.values())
        for op, inside in ops:
            if not _step(op, inside, taint, stores.setdefault(id(op), set()), loaded):
                return None
        if sum(len(s) for s in taint.values()) == before:
            break
    repeated = {id(each) for op, _ in ops if op.name in ("scf.for", "scf.while") for each, _ in _walk(op)}
    through = [(at, index) for at, found in stores.items() for index in found]
    stored = frozenset(index for _, index in through)
    often = {index for at, index in through if at in repeated or [i for _, i in through].count(index) > 1}
    return Touched(stored, frozenset(loaded), stored - often)


def _pointers(function: Op) -> List[str]:
    """The parameter's name where it is a pointer or a descriptor, else an empty string."""
    text = function.body
    return [
        n if text.partition(n + ": ")[2].startswith(("!tt.ptr", "!tt.tensordesc")) else "" for n in parameters(function)
    ]


def _walk(op: Op) -> Iterator[Tuple[Op, List[str]]]:
    """Every operation below, with the names that its regions bring in."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                yield inner, _brought(inner)
                yield from _walk(inner)


def _brought(op: Op) -> List[str]:
    names: List[str] = []
    regions: List[IrRegion] = op.regions
    for region in regions:
        for block in region.blocks:
            names += block.args
            for inner in block.ops:
                if inner.name in ("scf.yield", "scf.condition"):
                    names += inner.operands()
    return names


def _step(op: Op, inside: List[str], taint: Dict[str, Set[int]], stored: Set[int], loaded: Set[int]) -> bool:
    """One operation's part; False where pointers come from nowhere."""
    values = VALUE.findall(op.body) if op.regions else op.operands()
    carried: Set[int] = set()
    for name in values + inside:
        carried |= taint.get(name, set())
    if op.name == "tt.int_to_ptr" and not carried:
        return False
    if op.name in _ASKS:
        return True
    if op.name in _LOADS:
        loaded |= carried
        return True
    if op.name not in _MOVES and not op.name.startswith(_HARMLESS):
        # A store writes through its first operand; of an operation unknown here, any may be accessed through.
        known = op.name in _STORES + _ATOMICS
        target = taint.get(values[0], set()) if known and values else carried
        stored |= target
        if op.name not in _STORES:
            loaded |= target
        if known:  # what an atomic operation gives back is a number, as that of a load
            return True
    if carried:
        for name in op.results + (inside + values if op.regions else []):
            taint.setdefault(name, set()).update(carried)
    return True
