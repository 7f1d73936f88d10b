"""Runs a kernel's IR for all program instances of a launch at once, as far as addresses and control flow need it.

`Machine.run` notes each access that it meets, each assertion and each division. Where paths differ between program
instances, both are run, each under the condition that leads there (`active`). Trips of a loop run side by side where
what the loop carries grows by the same amount in each, which is checked afterwards; else one after another.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch

from ..static.ttgir import VALUE, IrBlock, IrRegion, Op
from . import integers, shapes
from .memory import Address, BlockPointer, Buffer, Described
from .module import ACCESSES, DESCRIBED, Function, Module, called
from .numbers import Algebra, Lanes, Number, Pair, TooLarge, Unknown, exact, pair, wrapped
from .types import extents, integer_bits, pointee, ranks, result_ranks, signature

PROGRAM_AXES = 3
SEQUENTIAL = 256
"""Trips that are run one after another; of more, the rest is unknown."""
DEPTH = 24
"""Calls within calls."""

Env = Dict[str, Any]


class Frame:
    """One call: the function, and what its values are."""

    def __init__(self, function: Function, caller: Optional["Frame"] = None, call: Optional[Op] = None) -> None:
        self.function = function
        self.env: Env = {}
        self.caller = caller
        self.call = call
        self.called: Dict[int, "Frame"] = {}
        """By the id of a call, the frame that it made last."""

    @property
    def depth(self) -> int:
        return 0 if self.caller is None else 1 + self.caller.depth


class Note:
    """Something that the machine met on the way: an access, an assertion, a division.

    `subject`: the address, the condition or the divisor. `mask`: under which condition, program instance and lane,
    that is (a number or Unknown). `masked`: whether the operation names a mask of its own.
    """

    def __init__(self, op: Op, frame: Frame, subject: Any, mask: Any, exact_mask: Any, masked: bool) -> None:
        self.op = op
        self.frame = frame
        self.env = dict(frame.env)
        self.subject = subject
        self.mask = mask
        self.exact_mask = exact_mask
        self.masked = masked


class Machine:
    """One run of a kernel. `programs`: for each of the grid's axes the indices that are run. `overrides`: values that
    replace what an operation or a parameter gives, by `(function name, value name)`."""

    def __init__(
        self,
        module: Module,
        arguments: Sequence[Any],
        grid: Tuple[int, int, int],
        *,
        algebra: Algebra,
        programs: Tuple[Any, Any, Any],
        overrides: Optional[Dict[Tuple[Function, str], Any]] = None,
        written: Optional[frozenset] = None,  # type: ignore[type-arg]
    ) -> None:
        self.module, self.arguments, self.grid = module, arguments, grid
        self.algebra, self.programs, self.overrides = algebra, programs, overrides or {}
        self.written = written
        self.active: Any = 1
        self.loops = 0
        self.notes: List[Note] = []
        self.doubt = ""
        self.sampled = False
        self.frame = Frame(module.kernel)

    def run(self) -> None:
        frame = self.frame
        names = frame.function.parameters
        values = list(self.arguments) if len(names) == len(self.arguments) else []
        if not values and names:
            self.doubt = "arguments do not match the kernel's parameters"
            values = [Unknown(self.doubt)] * len(names)
        for name, value in zip(names, values):
            self.define(name, value)
        self.regions(frame.function.op.regions)

    # Values

    def get(self, name: str) -> Any:
        value = self.frame.env.get(name)
        return Unknown("%s is not followed" % name) if value is None else value

    def define(self, name: str, value: Any) -> None:
        self.frame.env[name] = self.overrides.get((self.frame.function, name), value)

    def set(self, op: Op, *values: Any) -> None:
        for at, name in enumerate(op.results):
            self.define(name, values[at] if at < len(values) else Unknown(op.name))

    def is_needed(self, op: Op) -> bool:
        return any(name in self.frame.function.needed for name in op.results)

    def note(self, op: Op, subject: Any, mask: Any = 1, masked: bool = False) -> None:
        active = self.active
        rank = 0
        if isinstance(subject, Address) or masked or not isinstance(subject, int):
            rank = len(extents(signature(op.body)))
        raised = shapes.raised(active, rank)
        found, in_exact = self._conjoined(raised, mask), self._conjoined(raised, exact(mask))
        self.notes.append(Note(op, self.frame, subject, found, in_exact, masked))

    def _conjoined(self, a: Any, b: Any) -> Any:
        a, b = wrapped(a), wrapped(b)
        if isinstance(a, Unknown) or isinstance(b, Unknown):
            bounds = [value.bound if isinstance(value, Unknown) else value for value in (a, b)]
            known = [value for value in bounds if value is not None]
            why = a.why if isinstance(a, Unknown) else b.why
            if any(isinstance(value, int) and not value for value in known):
                return 0
            return Unknown(why, self.algebra.both(known[0], known[-1]) if known else None)
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
        outer = self.active
        entered: Dict[str, Tuple[Any, List[Any]]] = {region.blocks[0].label: (outer, [])}
        returned: Optional[List[Any]] = None
        seen = set()
        for block in region.blocks:
            seen.add(block.label)
            if block.label not in entered:
                continue
            self.active, values = entered[block.label]
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
        self.active = outer
        return returned or []

    def _branches(self, op: Op, entered: Dict[str, Any], seen: Any) -> None:
        condition = self.get(op.operands()[0])
        targets = re.findall(r"\^\w+(?:\([^)]*\))?", op.body)
        here = self.active
        for target, holds in zip(targets, (True, False)):
            self._jump(target, self._under(here, condition, holds), entered, seen)

    def _jump(self, target: str, active: Any, entered: Dict[str, Any], seen: Any) -> None:
        found = re.match(r"(\^\w+)(?:\(([^)]*)\))?", target)
        if found is None or found.group(1) in seen:
            self.doubt = self.doubt or "a jump backwards"
            return
        label, (names, _, types) = found.group(1), (found.group(2) or "").partition(" : ")
        values = [self.get(name) for name in VALUE.findall(names)]
        if label in entered:
            other, others = entered[label]
            values = self._merged(active, values, others, ranks(types))
            active = self._or(active, other)
        entered[label] = (active, values)

    def _under(self, active: Any, condition: Any, holds: bool) -> Any:
        """The part of the active program instances in which a condition holds, or does not."""
        condition = wrapped(condition)
        if isinstance(condition, Unknown):
            bound = active.bound if isinstance(active, Unknown) else active
            return Unknown(condition.why, bound)
        if not holds:
            condition = self.algebra.opposite(condition)
        return self._conjoined(active, condition)

    def _or(self, a: Any, b: Any) -> Any:
        if isinstance(a, Unknown) or isinstance(b, Unknown):
            return Unknown((a if isinstance(a, Unknown) else b).why, None)
        return self.algebra.either(a, b)

    def _merged(self, condition: Any, yes: Sequence[Any], no: Sequence[Any], of: Sequence[int]) -> List[Any]:
        return [self.choose(condition, one, other, rank) for one, other, rank in zip(yes, no, of)]

    def choose(self, condition: Any, yes: Any, no: Any, rank: int) -> Any:
        """`yes` where a scalar condition holds, else `no`, whatever they are: blocks of so many dimensions."""
        condition = wrapped(condition)
        if yes is no:
            return yes
        if isinstance(condition, Unknown):
            same = isinstance(yes, int) and isinstance(no, int) and yes == no
            return yes if same else Unknown(condition.why)
        if isinstance(condition, int):
            return yes if condition else no
        if isinstance(yes, Address) and isinstance(no, Address) and yes.buffer == no.buffer:
            return Address(yes.buffer, self.choose(condition, yes.offset, no.offset, rank))
        for value in (yes, no):
            if isinstance(value, Unknown):
                return Unknown(value.why)
            if isinstance(value, (Address, BlockPointer, Described)):
                return Unknown("pointers to different tensors")
        where = shapes.raised(condition, rank)
        return self.choose_lanes(where, yes, no)

    def step(self, op: Op) -> None:
        """Run one operation that is no terminator."""
        handler = _HANDLERS.get(op.name)
        if handler is not None:
            handler(self, op)
        elif op.name.startswith("arith."):
            if self.is_needed(op):
                self._arithmetic(op)
        elif op.results and self.is_needed(op):
            operands = [self.get(name) for name in op.operands()]
            try:
                self.set(op, *shapes.transformed(self.algebra, op, operands))
            except TooLarge:
                self.set(op, *[Unknown("too many lanes")] * len(op.results))
        else:
            self.set(op)

    def _arithmetic(self, op: Op) -> None:
        name = op.name[len("arith.") :]
        operands = [self.get(each) for each in op.operands()]
        if name == "select" and any(isinstance(value, (Address, BlockPointer, Described)) for value in operands):
            scalar = not signature(op.body).startswith("tensor<")
            self.set(op, self.choose(*operands, rank=0) if scalar else self._chosen_pointers(*operands))
            return
        if any(isinstance(value, (Address, BlockPointer, Described)) for value in operands):
            self.set(op, Unknown("arithmetic on pointers"))
            return
        if name in ("divsi", "divui", "remsi", "remui", "ceildivsi", "floordivsi") and len(operands) == 2:
            self.note(op, operands[1])
        try:
            self.set(op, integers.evaluate(self.algebra, name, op.body, operands))
        except TooLarge:
            self.set(op, Unknown("too many lanes"))

    def branch(self, op: Op) -> None:
        condition = wrapped(self.get(op.operands()[0]))
        outer = self.active
        handed: List[List[Any]] = []
        for at in (0, 1):
            self.active = self._under(outer, condition, at == 0)
            never = isinstance(self.active, int) and not self.active
            region = op.regions[at] if at < len(op.regions) else None
            handed.append(self.region(region) if region is not None and not never else [])
        self.active = outer
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

    # Memory

    def access(self, op: Op) -> None:
        names = op.operands()
        at = ACCESSES[op.name]
        masked = len(names) > at
        mask = self.get(names[at]) if masked else 1
        address = self.get(names[0])
        if isinstance(address, BlockPointer):
            address, mask = shapes.block_access(self.algebra, address, op.body)
            masked = "boundaryCheck" in op.body
        try:
            self.note(op, address, mask, masked)
        except TooLarge:
            self.note(op, Unknown("too many lanes"))
        if not self.is_needed(op):
            return
        if op.name != "tt.load":
            self.set(op, Unknown("an atomic operation gives it"))
            return
        other = self.get(names[2]) if len(names) > 2 else 0
        try:
            self.set(op, self._loaded(op, address, wrapped(mask), other))
        except TooLarge:
            self.set(op, Unknown("too many lanes"))

    def _loaded(self, op: Op, address: Any, mask: Any, other: Any) -> Any:
        if not isinstance(address, Address):
            return Unknown(address.why if isinstance(address, Unknown) else "a load through another pointer")
        target = pointee(signature(op.body))
        offset = wrapped(address.offset)
        if target is None or isinstance(offset, Unknown):
            return Unknown(offset.why if isinstance(offset, Unknown) else "a load of an unknown type")
        if self.written is None or address.buffer.parameter in self.written:
            return Unknown("the kernel writes what it loads")
        kind, width = target
        held = address.buffer.integers(kind)
        if isinstance(held, Unknown):
            return held
        lanes = self.algebra.lanes(offset)
        data = torch.tensor(lanes) if isinstance(lanes, int) else lanes.data
        self.algebra.check([data.shape])
        if not len(held):
            return Unknown("it is loaded from an empty tensor")
        index = torch.div(data, width, rounding_mode="floor").to(torch.int64)
        value = held[index.clamp(0, len(held) - 1)].to(torch.int64)
        found: Any = Lanes(value, 0, 0).tighten()
        if not data.dim():
            found = int(value)
        if kind == "i1" and not isinstance(found, int):
            found = Lanes(value != 0, 0, 1)
        where = mask.bound if isinstance(mask, Unknown) else mask
        if where is None or isinstance(other, (Unknown, Address)):
            return found
        return self.choose_lanes(where, found, other)

    def choose_lanes(self, mask: Any, yes: Any, no: Any) -> Any:
        """Numbers chosen lane by lane."""
        try:
            as_computed = self.algebra.choose(mask, wrapped(yes), wrapped(no))
            if not isinstance(yes, Pair) and not isinstance(no, Pair):
                return as_computed
            return pair(as_computed, self.algebra.choose(mask, exact(yes), exact(no)))
        except TooLarge:
            return Unknown("too many lanes")

    def _chosen_pointers(self, condition: Any, yes: Any, no: Any) -> Any:
        """A block of pointers, each one of two."""
        condition = wrapped(condition)
        if isinstance(condition, int):
            return yes if condition else no
        known = isinstance(yes, Address) and isinstance(no, Address) and yes.buffer == no.buffer
        offsets = (yes.offset, no.offset) if known else ()
        if not known or any(isinstance(value, Unknown) for value in (condition, *offsets)):
            return Unknown("pointers to different tensors")
        return Address(yes.buffer, self.choose_lanes(condition, *offsets))

    def described_access(self, op: Op) -> None:
        value = self.get(op.operands()[0])
        if isinstance(value, Described):
            self.note(op, value)
        if op.results:
            self.set(op, Unknown("a copy by a descriptor decides"))

    def describe(self, op: Op) -> None:
        """`tt.make_tensor_descriptor %base, [extents], [strides]`."""
        head = op.body.partition(" : ")[0]
        lists = [VALUE.findall(part) for part in re.findall(r"\[([^\]]*)\]", head)]
        base = self.get(op.operands()[0])
        if len(lists) < 2 or not isinstance(base, Address):
            self.set(op, Unknown("a descriptor of an unknown pointer"))
            return
        shape, strides = ([self.get(name) for name in part] for part in lists[:2])
        target = pointee(signature(op.body))
        made = shapes.Description(base, tuple(shape), tuple(strides), target[1] if target else None)
        self.note(op, made)
        self.set(op, Described(base.buffer, tuple(shape), tuple(strides), made.width))

    def block_pointer(self, op: Op) -> None:
        """`tt.make_tensor_ptr %base, [extents], [strides], [offsets]`."""
        head = op.body.partition(" : ")[0]
        lists = [VALUE.findall(part) for part in re.findall(r"\[([^\]]*)\]", head)]
        base = self.get(op.operands()[0])
        if len(lists) < 3:
            self.set(op, Unknown("a block pointer"))
            return
        shape, strides, offsets = ([self.get(name) for name in part] for part in lists[:3])
        self.set(op, BlockPointer(base, shape, strides, offsets, extents(signature(op.body))))

    def advance(self, op: Op) -> None:
        """`tt.advance %pointer, [steps]`."""
        names = op.operands()
        pointer = self.get(names[0])
        if not isinstance(pointer, BlockPointer):
            self.set(op, pointer if isinstance(pointer, Unknown) else Unknown("a block pointer"))
            return
        steps = [self.get(name) for name in names[1:]]
        offsets = [
            integers.evaluate(self.algebra, "addi", "%a, %b : i32", [offset, step])
            for offset, step in zip(pointer.offsets, steps)
        ]
        self.set(op, BlockPointer(pointer.base, pointer.shape, pointer.strides, offsets, pointer.block))

    def offset_pointer(self, op: Op) -> None:
        """`tt.addptr %pointer, %elements`."""
        if not self.is_needed(op):
            return
        names = op.operands()
        pointer, steps = self.get(names[0]), self.get(names[1])
        target = pointee(signature(op.body))
        if not isinstance(pointer, Address) or target is None:
            self.set(op, pointer if isinstance(pointer, Unknown) else Unknown("a pointer of an unknown type"))
        elif isinstance(steps, Unknown) or isinstance(pointer.offset, Unknown):
            why = steps if isinstance(steps, Unknown) else pointer.offset
            self.set(op, Address(pointer.buffer, Unknown(why.why)))
        else:
            try:
                self.set(op, Address(pointer.buffer, self._moved(pointer.offset, steps, target[1])))
            except TooLarge:
                self.set(op, Address(pointer.buffer, Unknown("too many lanes")))

    def _moved(self, offset: Any, steps: Any, width: int) -> Any:
        def moved(view: Callable[[Any], Any]) -> Number:
            return self.algebra.add(view(offset), self.algebra.multiply(view(steps), width))

        as_computed = moved(wrapped)
        both = isinstance(offset, Pair) or isinstance(steps, Pair)
        return pair(as_computed, moved(exact)) if both else as_computed

    # Leaves

    def program_id(self, op: Op) -> None:
        axis = "xyz".index(op.body[:1])
        self.set(op, self.programs[axis])

    def program_count(self, op: Op) -> None:
        self.set(op, self.grid["xyz".index(op.body[:1])])

    def fold(self, op: Op) -> None:
        """`tt.reduce`, `tt.scan`: of one block of integers."""
        if not self.is_needed(op):
            return
        operands = [self.get(name) for name in op.operands()]
        value: Any = operands[0] if len(operands) == 1 and op.regions else Unknown(op.name)
        if not isinstance(value, (Unknown, Address)):
            block = extents(op.tail.rpartition(" : ")[2].partition(" -> ")[0])
            combination = self.module.combination(op.regions[0])
            try:
                value = shapes.folded(self.algebra, op, value, combination, block, op.name == "tt.scan")
            except TooLarge:
                value = Unknown("too many lanes")
        self.set(op, value if not isinstance(value, Address) else Unknown(op.name))

    def assertion(self, op: Op) -> None:
        self.note(op, self.get(op.operands()[0]))

    # Loops

    def loop(self, op: Op) -> None:
        from .loops import run_for  # the two know one another

        run_for(self, op)

    def loop_while(self, op: Op) -> None:
        from .loops import run_while

        run_while(self, op)


_TERMINATORS = ("scf.yield", "scf.condition", "tt.return", "tt.reduce.return", "tt.scan.return", "ttg.mask.return")
_HANDLERS: Dict[str, Callable[[Machine, Op], None]] = {
    **dict.fromkeys(ACCESSES, Machine.access),
    **dict.fromkeys(DESCRIBED, Machine.described_access),
    "scf.for": Machine.loop,
    "scf.if": Machine.branch,
    "scf.while": Machine.loop_while,
    "tt.call": Machine.call,
    "tt.addptr": Machine.offset_pointer,
    "tt.make_tensor_descriptor": Machine.describe,
    "tt.make_tensor_ptr": Machine.block_pointer,
    "tt.advance": Machine.advance,
    "tt.get_program_id": Machine.program_id,
    "tt.get_num_programs": Machine.program_count,
    "tt.assert": Machine.assertion,
    "tt.reduce": Machine.fold,
    "tt.scan": Machine.fold,
}


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
            out.append(Unknown("an argument that is no integer"))
    return out


def bits_of(op: Op) -> int:
    """Of the integer that an operation makes."""
    return integer_bits(signature(op.body))
