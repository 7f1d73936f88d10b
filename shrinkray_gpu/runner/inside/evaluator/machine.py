"""Runs a kernel's IR for all program instances of a launch at once, as far as addresses and control flow need it.

`Machine.run` notes each access that it meets, each assertion and each division. Where paths differ between program
instances, both are run, each under the condition that leads there (`active`). Trips of a loop run side by side where
what the loop carries grows by the same amount in each, which is checked afterwards; else one after another.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, FrozenSet, List, Optional, Sequence, Tuple

from ..static.ttgir import VALUE, IrBlock, IrRegion, Op
from . import integers, shapes
from .memory import Address, BlockPointer, Described
from .module import DIVISIONS, IrFunction, Module, called
from .numbers import Algebra, Both, Lanes, Pair, Sum, TooLarge, Unfollowed, exact, pair, wrapped
from .types import extents, ranks, result_ranks, signature

PROGRAM_AXES = 3
SEQUENTIAL = 256
"""Trips that are run one after another; of more, the rest is unknown."""
DEPTH = 24
"""Calls within calls."""

Env = Dict[str, Any]
Conditions = Tuple[Tuple["Frame", Op, bool], ...]
"""Branches that lead to something, each in its call, and whether their conditions hold there."""
Handler = Callable[[Any, Op], None]
"""Is given the machine, and the operation."""


class Frame:
    """One call: the function, and what its values are."""

    def __init__(self, function: IrFunction, caller: Optional["Frame"] = None, call: Optional[Op] = None) -> None:
        self.function = function
        self.env: Env = {}
        self.caller = caller
        self.call = call
        self.path: Tuple[int, ...] = () if caller is None else (*caller.path, id(call))
        """The ids of the calls that led here."""
        self.called: Dict[int, "Frame"] = {}
        """By the id of a call, the frame that it made last."""

    @property
    def depth(self) -> int:
        return 0 if self.caller is None else 1 + self.caller.depth


class Note:
    """Something that the machine met on the way: an access, an assertion, a division.

    `subject`: the address, the condition or the divisor. `mask`: under which condition, program instance and lane,
    that is (a number or Unfollowed). `masked`: whether the operation names a mask of its own. `conditions`: under
    which branches.
    """

    def __init__(
        self, op: Op, frame: Frame, subject: Any, mask: Any, exact_mask: Any, masked: bool, conditions: Conditions
    ) -> None:
        self.op = op
        self.frame = frame
        self.env = dict(frame.env)
        self.subject = subject
        self.mask = mask
        self.exact_mask = exact_mask
        self.masked = masked
        self.conditions = conditions

    @property
    def outermost(self) -> Frame:
        """The kernel's own frame."""
        frame = self.frame
        while frame.caller is not None:
            frame = frame.caller
        return frame


class Machine:
    """One run of a kernel. `handlers`: by its name, what an operation does that is not plain arithmetic. `programs`:
    for each of the grid's axes the indices that are run. `overrides`: values that replace what an operation or a
    parameter gives, by function, name and path: of one call, or None for all. `written`: indices of the parameters that
    the kernel may write through; `once`: of those that it writes through in one place alone, outside of loops."""

    def __init__(
        self,
        module: Module,
        arguments: Sequence[Any],
        grid: Tuple[int, int, int],
        *,
        handlers: Dict[str, Handler],
        algebra: Algebra,
        programs: Tuple[Any, Any, Any],
        overrides: Optional[Dict[Tuple[IrFunction, str, Optional[Tuple[int, ...]]], Any]] = None,
        written: Optional[FrozenSet[int]] = None,
        once: FrozenSet[int] = frozenset(),
    ) -> None:
        self.module, self.arguments, self.grid = module, arguments, grid
        self.handlers, self.algebra, self.programs = handlers, algebra, programs
        self.overrides = overrides or {}
        self.written, self.once = written, once
        self.active: Any = 1
        self.conditions: Conditions = ()
        self.loops = 0
        self.orders = 0
        """How many results of atomic operations have an axis for the order of the lanes."""
        self.counted: List[str] = []
        """Stands for what they gave back."""
        self.notes: List[Note] = []
        self.doubt = ""
        self.hazard = ""
        self.trials = 0
        """How many loops are run on a guess, which may be taken back."""
        self.sampled = False
        self.frame = Frame(module.kernel)

    def run(self) -> None:
        frame = self.frame
        names = frame.function.parameters
        values = list(self.arguments) if len(names) == len(self.arguments) else []
        if not values and names:
            self.doubt = "arguments do not match the kernel's parameters"
            values = [Unfollowed(self.doubt)] * len(names)
        for name, value in zip(names, values):
            self.define(name, value)
        self.regions(frame.function.op.regions)

    # Values

    def get(self, name: str) -> Any:
        value = self.frame.env.get(name)
        return Unfollowed("%s is not followed" % name) if value is None else value

    def define(self, name: str, value: Any) -> None:
        if self.overrides:
            for path in (None, self.frame.path):
                value = self.overrides.get((self.frame.function, name, path), value)
        self.frame.env[name] = value

    def set(self, op: Op, *values: Any) -> None:
        for at, name in enumerate(op.results):
            self.define(name, values[at] if at < len(values) else Unfollowed(op.name))

    def is_needed(self, op: Op) -> bool:
        return any(name in self.frame.function.needed for name in op.results)

    def note(self, op: Op, subject: Any, mask: Any = 1, masked: bool = False) -> None:
        active = self.active
        rank = 0
        if isinstance(subject, Address) or masked or not isinstance(subject, int):
            rank = len(extents(signature(op.body)))
        raised = shapes.raised(active, rank)
        found, in_exact = self._conjoined(raised, mask), self._conjoined(raised, exact(mask))
        self.notes.append(Note(op, self.frame, subject, found, in_exact, masked, self.conditions))

    def _conjoined(self, a: Any, b: Any) -> Any:
        a, b = wrapped(a), wrapped(b)
        if isinstance(a, Unfollowed) or isinstance(b, Unfollowed):
            bounds = [value.bound if isinstance(value, Unfollowed) else value for value in (a, b)]
            known = [value for value in bounds if value is not None]
            why = a.why if isinstance(a, Unfollowed) else b.why
            if any(isinstance(value, int) and not value for value in known):
                return 0
            return Unfollowed(why, self.algebra.both(known[0], known[-1]) if known else None)
        return self.algebra.both(a, b)

    # Control

    def regions(self, regions: List[IrRegion]) -> List[Any]:
        return self.region(regions[0]) if regions else []

    def region(self, region: IrRegion) -> List[Any]:
        """Run a region; what its terminator hands on."""
        if len(region.blocks) == 1:
            return self._straight(region.blocks[0])
        return self._graph(region)

    def _straight(self, block: IrBlock) -> List[Any]:
        for op in block.ops:
            if op.name in _TERMINATORS:
                return [self.get(name) for name in op.operands()]
            self.step(op)
        return []

    def _graph(self, region: IrRegion) -> List[Any]:
        """Blocks that jump to one another, forwards only, as early returns make them."""
        outer, conditions = self.active, self.conditions
        entered: Dict[str, Tuple[Any, List[Any], Conditions]] = {region.blocks[0].label: (outer, [], conditions)}
        returned: Optional[List[Any]] = None
        seen = set()
        for block in region.blocks:
            seen.add(block.label)
            if block.label not in entered:
                continue
            self.active, values, self.conditions = entered[block.label]
            if isinstance(self.active, int) and not self.active:
                continue
            for name, value in zip(block.args, values):
                self.define(name, value)
            for op in block.ops:
                if op.name == "cf.br":
                    self._jump(op.body, self.active, entered, seen)
                elif op.name == "cf.cond_br":
                    self._branches(op, entered, seen)
                elif op.name in _TERMINATORS:
                    handed = [self.get(name) for name in op.operands()]
                    if returned is not None:
                        handed = self._merged(self.active, handed, returned, ranks(signature(op.body)))
                    returned = handed
                else:
                    self.step(op)
        self.active, self.conditions = outer, conditions
        return returned or []

    def _branches(self, op: Op, entered: Dict[str, Any], seen: Any) -> None:
        condition = self.get(op.operands()[0])
        targets = re.findall(r"\^\w+(?:\([^)]*\))?", op.body)
        here, conditions = self.active, self.conditions
        for target, holds in zip(targets, (True, False)):
            self.conditions = (*conditions, (self.frame, op, holds))
            self._jump(target, self._under(here, condition, holds), entered, seen)
        self.conditions = conditions

    def _jump(self, target: str, active: Any, entered: Dict[str, Any], seen: Any) -> None:
        found = re.match(r"(\^\w+)(?:\(([^)]*)\))?", target)
        if found is None or found.group(1) in seen:
            self.doubt = self.doubt or "a jump backwards"
            return
        label, (names, _, types) = found.group(1), (found.group(2) or "").partition(" : ")
        values = [self.get(name) for name in VALUE.findall(names)]
        conditions = self.conditions
        if label in entered:
            other, others, before = entered[label]
            values = self._merged(active, values, others, ranks(types))
            active = self._or(active, other)
            conditions = tuple(each for each in conditions if each in before)
        entered[label] = (active, values, conditions)

    def _under(self, active: Any, condition: Any, holds: bool) -> Any:
        """The part of the active program instances in which a condition holds, or does not."""
        condition = wrapped(condition)
        if isinstance(condition, Unfollowed):
            bound = active.bound if isinstance(active, Unfollowed) else active
            return Unfollowed(condition.why, bound)
        if not holds:
            condition = self.algebra.opposite(condition)
        return self._conjoined(active, condition)

    def _or(self, a: Any, b: Any) -> Any:
        if isinstance(a, Unfollowed) or isinstance(b, Unfollowed):
            return Unfollowed((a if isinstance(a, Unfollowed) else b).why, None)
        return self.algebra.either(a, b)

    def _merged(self, condition: Any, yes: Sequence[Any], no: Sequence[Any], of: Sequence[int]) -> List[Any]:
        return [self.choose(condition, one, other, rank) for one, other, rank in zip(yes, no, of)]

    def choose(self, condition: Any, yes: Any, no: Any, rank: int) -> Any:
        """`yes` where a scalar condition holds, else `no`, whatever they are: blocks of so many dimensions."""
        condition = wrapped(condition)
        if yes is no:
            return yes
        if isinstance(condition, Unfollowed):
            same = isinstance(yes, int) and isinstance(no, int) and yes == no
            return yes if same else Unfollowed(condition.why)
        if isinstance(condition, int):
            return yes if condition else no
        if isinstance(yes, Address) and isinstance(no, Address) and yes.buffer == no.buffer:
            return Address(yes.buffer, self.choose(condition, yes.offset, no.offset, rank))
        for value in (yes, no):
            if isinstance(value, Unfollowed):
                return Unfollowed(value.why)
            if not isinstance(value, (int, Lanes, Sum, Both, Pair)):
                return Unfollowed("pointers to different tensors")
        where = shapes.raised(condition, rank)
        return self.choose_lanes(where, yes, no)

    def step(self, op: Op) -> None:
        """Run one operation that is no terminator."""
        handler = self.handlers.get(op.name)
        if handler is not None:
            handler(self, op)
        elif op.name.startswith("arith."):
            if self.is_needed(op) or op.name in DIVISIONS:
                self._arithmetic(op)
        elif op.results and self.is_needed(op):
            operands = [self.get(name) for name in op.operands()]
            try:
                self.set(op, *shapes.transformed(self.algebra, op, operands))
            except TooLarge:
                self.set(op, *[Unfollowed("too many lanes")] * len(op.results))
        else:
            self.set(op)

    def _arithmetic(self, op: Op) -> None:
        name = op.name[len("arith.") :]
        operands = [self.get(each) for each in op.operands()]
        if name == "select" and any(isinstance(value, (Address, BlockPointer, Described)) for value in operands):
            scalar = not signature(op.body).startswith("tensor<")
            self.set(
                op,
                self.choose(operands[0], operands[1], operands[2], 0)
                if scalar
                else self._chosen_pointers(operands[0], operands[1], operands[2]),
            )
            return
        if any(isinstance(value, (Address, BlockPointer, Described)) for value in operands):
            self.set(op, Unfollowed("arithmetic on pointers"))
            return
        if op.name in DIVISIONS:
            self.note(op, operands[1])
            if not self.is_needed(op):
                return
        try:
            self.set(op, integers.evaluate(self.algebra, name, op.body, operands))
        except TooLarge:
            self.set(op, Unfollowed("too many lanes"))

    def branch(self, op: Op) -> None:
        condition = wrapped(self.get(op.operands()[0]))
        outer, conditions = self.active, self.conditions
        handed: List[List[Any]] = []
        for at in (0, 1):
            self.conditions = (*conditions, (self.frame, op, at == 0))
            self.active = self._under(outer, condition, at == 0)
            never = isinstance(self.active, int) and not self.active
            region = op.regions[at] if at < len(op.regions) else None
            handed.append(self.region(region) if region is not None and not never else [])
        self.active, self.conditions = outer, conditions
        yes, no = handed
        if yes and no:
            yes = self._merged(condition, yes, no, result_ranks(op.body))
        self.set(op, *(yes or no))

    def wants(self, name: str) -> bool:
        return name in self.frame.function.needed

    def call(self, op: Op) -> None:
        function = self.module.functions.get(called(op))
        if function is None or not function.op.regions or self.frame.depth > DEPTH:
            self.set(op)
            return
        operands = [self.get(name) for name in op.operands()]
        caller = self.frame
        self.frame = caller.called[id(op)] = Frame(function, caller, op)
        for name, value in zip(function.parameters, operands):
            self.define(name, value)
        handed = self.region(function.op.regions[0])
        self.frame = caller
        self.set(op, *handed)

    def choose_lanes(self, mask: Any, yes: Any, no: Any) -> Any:
        """Numbers chosen lane by lane."""
        try:
            as_computed = self.algebra.choose(mask, wrapped(yes), wrapped(no))
            if not isinstance(yes, Pair) and not isinstance(no, Pair):
                return as_computed
            return pair(as_computed, self.algebra.choose(mask, exact(yes), exact(no)))
        except TooLarge:
            return Unfollowed("too many lanes")

    def _chosen_pointers(self, condition: Any, yes: Any, no: Any) -> Any:
        """A block of pointers, each one of two."""
        condition = wrapped(condition)
        if isinstance(condition, int):
            return yes if condition else no
        known = isinstance(yes, Address) and isinstance(no, Address) and yes.buffer == no.buffer
        offsets = (yes.offset, no.offset) if known else ()
        if not known or any(isinstance(value, Unfollowed) for value in (condition, *offsets)):
            return Unfollowed("pointers to different tensors")
        return Address(yes.buffer, self.choose_lanes(condition, *offsets))


_TERMINATORS = frozenset(
    "scf.yield scf.condition tt.return tt.reduce.return tt.scan.return ttg.mask.return ttg.warp_yield "
    "ttg.warp_return".split()
)
