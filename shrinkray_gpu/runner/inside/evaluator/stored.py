"""Which program instances store the same: two stores of one value to one place do no harm, in whichever order.

The value is followed back from the store. Two program instances agree on it where they agree on all that it is made of:
on integers that are known, on what is loaded from the same addresses of a tensor that nobody writes to meanwhile.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections import Counter
from typing import Any, Dict, FrozenSet, Iterator, List, Optional, Tuple

import torch

from ..static.ttgir import VALUE, Op
from . import integers
from .access import Lane, at
from .machine import PROGRAM_AXES, Frame
from .memory import Address
from .module import ACCESSES, IrFunction, called
from .numbers import Algebra, Both, Lanes, Sum, TooLarge, Unfollowed, elements, wrapped
from .touches import Programs, Touch
from .types import extents, signature

_SPREADS = ("tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape")
_CASTS = frozenset("arith." + name for name in "sitofp uitofp extf truncf extsi extui trunci fptosi fptoui".split())
_TYPED = ("arith.", "tt.get_program_id", "tt.splat", "tt.broadcast", "tt.expand_dims")
"""Operations whose last type is that of their result."""
_PURE = frozenset(
    "tt." + name
    for name in (
        "splat broadcast expand_dims reshape trans join split cat reduce scan dot dot_scaled make_range bitcast "
        "fp_to_fp clampf mulhiui precise_sqrt precise_divf get_program_id get_num_programs histogram gather addptr"
    ).split()
)
_UNEVEN = re.compile(r"dense<[\[\"]")
EXACT = 128
"""Whole numbers below are exact in each type of 16 bits or more, so that a cast changes none of them."""
Name = Tuple[Frame, Any, str, Op]
"""A value by its call, what is known there, its name, and an operation that takes it."""


class StoredValues:
    """Numbers for what program instances store. `written`: storages that the launch writes to. Raises TooLarge where
    the values that it hangs on are too many."""

    def __init__(self, programs: Programs, written: FrozenSet[int]) -> None:
        self._programs, self._written, self._algebra = programs, written, Algebra()
        self._known: Dict[Tuple[int, str, int], Any] = {}
        self._numbers: Dict[Tuple[int, str, int], Any] = {}
        self._literals: Dict[str, int] = {}
        self._given = 0
        self._is_even = self._loads = self._races = True
        self._memory: Dict[int, Tuple[bool, bool]] = {}
        """By the id of a touch, whether its value hangs on memory that stays, and on memory that the launch changes."""

    def numbers(self, touch: Touch) -> Any:
        """For each program instance a number. Where two are equal, both store the same in each place that both store
        to, whichever stores they are of."""
        note = touch.note
        names = note.op.operands()
        start = (note.frame, note.env, names[1] if note.op.name in ACCESSES else names[-1], note.op)
        text = self._literal(start)
        if text:
            self._memory[id(touch)] = False, False
            place = self._literals.setdefault(text, -1 - len(self._literals))
            return torch.full((self._programs.count,), place)
        self._is_even, self._known, self._numbers = True, {}, {}
        self._loads = self._races = False
        labels = self._labels(*start)
        self._memory[id(touch)] = self._loads, self._races
        if not self._is_even:  # a place that is another lane's is given another value
            for part in (touch.offset, touch.mask):
                labels = _together(labels, self._rows(part, touch.rank))
        self._given += self._programs.count
        return labels + self._given

    def differ(self, one: Touch, other: Touch, lanes: Tuple[Lane, Lane]) -> bool:
        """Whether it is shown that two stores whose numbers differ store two values, in these lanes. What both make of
        memory may be the same, by the same way or by another."""
        memory = [self._memory[id(each)] for each in (one, other)]
        if any(changed for _, changed in memory) or not any(stays for stays, _ in memory):
            return True
        note, names = one.note, one.note.op.operands()
        if note.op is not other.note.op or note.op.name not in ACCESSES:
            return False
        return self._differs((note.frame, note.env, names[1], note.op), lanes)

    def _differs(self, value: Name, lanes: Tuple[Lane, Lane]) -> bool:
        """Whether, lane for lane, a value is made of other numbers, or of what is loaded from other addresses."""
        frame, env, name, user = value
        op = _maker(frame, user, name)
        if op is None:
            outer = _given(frame, name)
            return outer is not None and self._differs(outer, lanes)
        number = self._number(frame, env, name, op)
        if op.name == "tt.load":
            address = _held(frame, env, op.operands()[0])
            number = wrapped(address.offset) if isinstance(address, Address) else None
        if number is not None and not isinstance(number, Unfollowed):
            return at(number, lanes[0]) != at(number, lanes[1])
        behind = _behind(frame, env, op, name) or []
        if op.name == "tt.splat":
            rank = len(extents(signature(op.body)))
            ours, theirs = ({axis - rank: place for axis, place in lane.items() if axis > rank} for lane in lanes)
            lanes = ours, theirs
        elif not op.name.startswith(("arith.", "math.", "tt.call", "tt.broadcast", "tt.fp_to_fp")):
            return False  # a lane is made of other lanes
        return any(self._differs(each, lanes) for each in behind)

    def _literal(self, value: Name) -> str:
        """The number that each lane stores; empty where it is no literal."""
        casts = ""
        while True:
            frame, env, name, user = value
            op = _maker(frame, user, name)
            if op is None:
                outer = _given(frame, name)
                if outer is None:
                    return ""
                value = outer
            elif op.name in _SPREADS or op.name in _CASTS:
                casts += op.name if op.name in _CASTS else ""
                value = frame, env, op.operands()[0], op
            elif op.name == "tt.call":
                handed = list(_returned(frame, op, name))
                if len(handed) != 1:
                    return ""
                value = handed[0]
            elif op.name != "arith.constant":
                return ""
            else:
                text = op.body.partition(" : ")[0]
                return "" if _UNEVEN.search(text) else _plain(re.sub(r"^dense<(.*)>$", r"\1", text), casts)

    def _labels(self, frame: Frame, env: Any, name: str, user: Op) -> Any:
        """For each program instance a number; where two are equal, so is the value."""
        op = _maker(frame, user, name)
        key = (id(frame), name, id(op))
        if key not in self._known:
            self._known[key] = self._same  # met again: it hangs on the rest
            self._known[key] = self._of(frame, env, name, op)
        return self._known[key]

    def _of(self, frame: Frame, env: Any, name: str, op: Optional[Op]) -> Any:
        if op is None:
            outer = _given(frame, name)
            if outer is not None:
                return self._labels(*outer)
            return self._same if frame.caller is None and name in frame.function.parameters else self._own
        value = self._number(frame, env, name, op) if op.name.startswith(_TYPED) else None
        if value is not None:
            return self._rows(value, len(extents(signature(op.body))))
        if op.name == "tt.make_range" or op.name == "arith.constant" and _UNEVEN.search(op.body):
            self._is_even = False
            return self._same
        if op.name == "tt.load":
            return self._loaded(frame, env, op)
        found = self._same
        behind = _behind(frame, env, op, name)
        if behind is None:
            atomic = op.name.startswith("tt.atomic")
            self._races, self._loads = self._races or atomic, self._loads or not atomic
            return self._own
        self._is_even = self._is_even and not op.name.startswith(("scf.for", "scf.while", "tt.join", "tt.cat"))
        for each in behind:
            found = _together(found, self._labels(*each))
        return found

    def _number(self, frame: Frame, env: Any, name: str, op: Optional[Op]) -> Any:
        """What an integer is that is made of program ids, ranges, arguments and constants; None for others. What memory
        holds does not count: it may be made up. The machine computes only what accesses hang on."""
        key = (id(frame), name, id(op))
        if key not in self._numbers:
            try:
                found = wrapped(self._integer(frame, env, name, op))
            except TooLarge:
                found = None
            self._numbers[key] = found if isinstance(found, (int, Lanes, Sum, Both)) else None
        return self._numbers[key]

    def _integer(self, frame: Frame, env: Any, name: str, op: Optional[Op]) -> Any:
        if op is None:
            outer = _given(frame, name)
            if outer is None:
                return _held(frame, env, name)
            return self._number(*outer[:3], _maker(outer[0], outer[3], outer[2]))
        if not op.name.startswith((*_TYPED, "tt.get_num_programs", "tt.make_range")):
            return None
        operands = [self._number(frame, env, each, _maker(frame, op, each)) for each in op.operands()]
        if any(each is None for each in operands):
            return None
        if _held(frame, env, name) is not None or not op.name.startswith("arith."):
            return _held(frame, env, name)
        return integers.evaluate(self._algebra, op.name[len("arith.") :], op.body, operands)

    def _loaded(self, frame: Frame, env: Any, op: Op) -> Any:
        address, names = _held(frame, env, op.operands()[0]), op.operands()
        known = isinstance(address, Address)
        changes = known and address.buffer.storage in self._written or "isVolatile = true" in op.body
        self._races, self._loads = self._races or changes, self._loads or not changes
        offset = wrapped(address.offset) if known else None
        if not known or changes or isinstance(offset, Unfollowed):
            return self._own
        rank = len(extents(signature(op.body)))
        found = self._rows(offset, rank)
        for name in names[1:]:  # its mask, and what it gives elsewhere
            found = _together(found, self._labels(frame, env, name, op))
        return found

    def _rows(self, value: Any, rank: int) -> Any:
        """The same number for program instances whose lanes are all equal."""
        found = wrapped(value)
        parts = found.terms if isinstance(found, Sum) else found.factors if isinstance(found, Both) else (found,)
        labels = self._same
        for part in parts:  # where all parts are equal, so is the whole
            if not isinstance(part, int):
                labels = _together(labels, self._of_rows(self._programs.narrow(part.data, rank), rank))
        return labels

    def _of_rows(self, data: Any, rank: int) -> Any:
        lead = max(data.dim(), rank + PROGRAM_AXES) - rank - PROGRAM_AXES
        data = data.reshape((1,) * (lead + PROGRAM_AXES + rank - data.dim()) + tuple(data.shape))
        own = data.shape[lead : lead + PROGRAM_AXES]
        rest = elements(data.shape) // elements(own)
        self._is_even = self._is_even and rest == 1
        if elements(own) == 1:
            return self._same
        self._algebra.check([data.shape])
        order = (*range(lead, lead + PROGRAM_AXES), *range(lead), *range(lead + PROGRAM_AXES, data.dim()))
        rows = data.permute(*order).reshape(elements(own), rest).to(torch.int64)
        found = torch.unique(rows, dim=0, return_inverse=True)[1]
        return found.reshape(own).expand(self._programs.shape).reshape(-1)

    @property
    def _same(self) -> Any:
        return torch.zeros(self._programs.count, dtype=torch.int64)

    @property
    def _own(self) -> Any:
        """Nobody knows that any two agree."""
        return torch.arange(self._programs.count)


def _plain(text: str, casts: str) -> str:
    """A small whole number is the same in all types; of others it counts through which it comes."""
    with contextlib.suppress(ValueError):
        if float(text).is_integer() and abs(float(text)) < EXACT:
            return str(int(float(text)))
    return text + casts


def _together(one: Any, other: Any) -> Any:
    """Equal where both are."""
    return torch.unique(one * (int(other.max()) + 1) + other, return_inverse=True)[1]


def _given(frame: Frame, name: str) -> Optional[Name]:
    """What a function's parameter is in the call that gives it."""
    caller, call, parameters = frame.caller, frame.call, frame.function.parameters
    if caller is None or call is None or name not in parameters:
        return None
    given = call.operands()
    place = parameters.index(name)
    return (caller, caller.env, given[place], call) if place < len(given) else None


def _returned(frame: Frame, op: Op, name: str) -> Iterator[Name]:
    """What a call may give back."""
    callee = frame.called.get(id(op))
    if callee is not None and called(op):
        place = op.results.index(name)
        for each in callee.function.all:
            handed = each.operands()[place : place + 1] if each.name == "tt.return" else []
            for returned in handed:
                if callee.env.get(returned) is not None:
                    yield callee, callee.env, returned, each


def _behind(frame: Frame, env: Any, op: Op, name: str) -> Optional[List[Name]]:
    """The values that one is made of, with those that choose among them; None where there may be more."""
    if op.name == "tt.call":
        handed = list(_returned(frame, op, name))
        return handed if len(handed) == 1 else None
    if op.name in ("scf.if", "scf.for", "scf.while"):
        out = [(frame, env, each, op) for each in VALUE.findall(op.body.partition(" : ")[0])]
        for region in op.regions:
            last = region.blocks[-1].ops[-1:] if len(region.blocks) == 1 else []
            if not last:
                return None
            out += [(frame, env, each, last[0]) for each in last[0].operands()]
        return out
    pure = op.name.startswith(("arith.", "math.")) or op.name in _PURE
    if op.name in ("tt.elementwise_inline_asm", "tt.extern_elementwise"):
        pure = "pure = true" in op.body
    return [(frame, env, each, op) for each in op.operands()] if pure else None


def _held(frame: Frame, env: Any, name: str) -> Any:
    """What is known of a value; None of one whose name another region has, too, and may have run later."""
    return None if name in _scopes(frame.function)[1] else env.get(name)


def _maker(frame: Frame, user: Op, name: str) -> Optional[Op]:
    """The operation that makes what another one takes; None for parameters."""
    return _scopes(frame.function)[0].get(id(user), {}).get(name)


@functools.lru_cache(maxsize=64)
def _scopes(function: IrFunction) -> Tuple[Dict[int, Dict[str, Op]], FrozenSet[str]]:
    """By the id of an operation, what makes each value that it names; and names that two values have, in regions beside
    one another."""
    found: Dict[int, Dict[str, Op]] = {}

    def walk(op: Op, scope: Dict[str, Op]) -> None:
        for region in op.regions:
            inner = dict(scope)
            if op.name == "scf.for":
                inner.update((name, op) for name in (function.loops[id(op)].variable, *function.loops[id(op)].names))
            for each in (each for block in region.blocks for each in block.ops):
                found[id(each)] = {name: inner[name] for name in VALUE.findall(each.body) if name in inner}
                walk(each, inner)
                inner.update((name, each) for name in each.results)

    walk(function.op, {})
    count = Counter(result for op in function.all for result in op.results)
    return found, frozenset(result for result, times in count.items() if times > 1)
