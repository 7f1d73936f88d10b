"""Does a launch touch memory that is not its own, or never end? Asked of a launch before its fault is believed.

A reducer that is told only "the copy is misaligned" gladly passes empty tensors, and extents that are larger than what
lies behind them: on a device that is another fault, or none. So the kernel's loads, stores and descriptors are followed
here, in the TTIR, on what is known of the launch. Blocks of offsets are kept as affine forms (a start and a step for
each dimension) and masks as boxes of indices, which is what `arange`, broadcasting and comparisons with a bound make;
everything else is unknown, and of the unknown nothing is said, except that a null pointer must not be used at all.
"""

from __future__ import annotations

import functools
import itertools
import re
from dataclasses import dataclass, replace
from typing import Any, Dict, Optional, Sequence, Tuple

from . import scalars
from .kernel_program import Descriptor, Endless, KernelProgram, OutOfFuel, Pointer
from .ttgir import Op, bits, parse

Extents = Tuple[int, ...]


@dataclass(frozen=True)
class AffineBlock:
    """A tensor of integers: `start + sum(steps[d] * index[d])`, each index below its extent."""

    start: int
    steps: Tuple[int, ...]
    extents: Extents

    @property
    def uniform(self) -> bool:
        return not any(step for step, n in zip(self.steps, self.extents) if n > 1)

    def hull(self, box: "Box") -> Tuple[int, int]:
        """Least and greatest value over the indices of a box; both occur."""
        ends = [(step * low, step * high) for step, (low, high) in zip(self.steps, box.spans)]
        return self.start + sum(min(e) for e in ends), self.start + sum(max(e) for e in ends)


@dataclass(frozen=True)
class Box:
    """A mask: true at most at the indices of these spans (both ends included), and if `exact` at all of them."""

    spans: Tuple[Tuple[int, int], ...]
    extents: Extents
    exact: bool = True

    @property
    def empty(self) -> bool:
        return any(low > high for low, high in self.spans)


@dataclass(frozen=True)
class Places:
    """A tensor of pointers: one pointer, and the bytes to each element's."""

    pointer: Pointer
    offsets: Optional[AffineBlock]


class _HarmfulAccess(Exception):
    pass


def harm(ttir: str, grid: Sequence[int], args: Sequence[Any]) -> str:
    """Why this launch is undefined behaviour of its own, as far as can be told; else empty.

    `args` as in `rule.LaunchFacts`. The programs at the corners of the grid stand for all: offsets grow with the
    program's index.
    """
    functions = parse(ttir)
    sizes = (tuple(grid) + (1, 1, 1))[:3]
    if not functions or 0 in sizes:
        return ""
    for program in sorted(set(itertools.product(*((0, n - 1) for n in sizes)))):
        run = _Accesses(functions, program, sizes)
        try:
            for arg in args:
                if isinstance(arg, Descriptor):
                    run.described(arg.base, arg.shape, arg.strides, arg.width)
            run.start(args)
        except (_HarmfulAccess, Endless) as found:
            return str(found)
        except OutOfFuel:
            pass
    return ""


_MASKED_BY = {"tt.load": 1, "tt.store": 2, "tt.atomic_rmw": 2, "tt.atomic_cas": 3}
_SAME = ("extsi", "extui", "trunci", "index_cast", "index_castui")
# Predicate -> the least and the greatest difference of its operands.
_BOUNDS: Dict[str, Tuple[Optional[int], Optional[int]]] = {
    "slt": (None, -1),
    "sle": (None, 0),
    "sgt": (1, None),
    "sge": (0, None),
    "eq": (0, 0),
}


class _Accesses(KernelProgram):
    """A program whose loads, stores and descriptors are looked at."""

    to_the_end = True

    def run(self, op: Op) -> None:
        handler = _HANDLERS.get(op.name)
        if handler is not None:
            handler(self, op)
        elif op.name.startswith("arith.") and "tensor<" in op.body:
            self.set(op, self.elementwise(op, op.name[len("arith.") :]))
        else:
            super().run(op)

    def access(self, op: Op) -> None:
        self.set(op, None)
        names = op.operands()
        where = self.get(names[0]) if names else None
        pointer = where.pointer if isinstance(where, Places) else where
        if not isinstance(pointer, Pointer):
            return
        at = _MASKED_BY[op.name]
        mask = self.get(names[at]) if len(names) > at else 1
        extents = _extents(op.body)
        box = mask if isinstance(mask, Box) else _everywhere(extents, exact=isinstance(mask, int))
        if box.empty or isinstance(mask, int) and not mask:
            return
        what = "%s: %s through" % (self.name, op.name[len("tt.") :])
        if pointer.null:
            raise _HarmfulAccess("%s a null pointer: the tensor is empty" % what)
        offsets = where.offsets if isinstance(where, Places) else AffineBlock(0, (), ())
        width = _width(op.body)
        if self.maybe or not box.exact or offsets is None or pointer.at is None or pointer.size is None or not width:
            return
        low, high = offsets.hull(box)
        self.inside(what + " a pointer", pointer, low, high + width)

    def inside(self, what: str, pointer: Pointer, low: int, high: int) -> None:
        """These bytes from where the pointer points lie in its storage, the last one not included."""
        if pointer.at is None or pointer.size is None:
            return
        low, high = low + pointer.at, high + pointer.at
        if low < 0 or high > pointer.size:
            raise _HarmfulAccess("%s reaches bytes %d to %d of a storage of %d bytes" % (what, low, high, pointer.size))

    def described(
        self, base: Any, shape: Sequence[Optional[int]], strides: Sequence[Optional[int]], width: Optional[int]
    ) -> None:
        """A descriptor may describe only what is there."""
        if not isinstance(base, Pointer):
            return
        if base.null:
            raise _HarmfulAccess("%s: a descriptor of a null pointer: the tensor is empty" % (self.name or "the host"))
        known = [(n, s) for n, s in zip(shape, strides) if n is not None and s is not None]
        if len(known) < len(shape) or width is None or any(n <= 0 or s < 0 for n, s in known):
            return
        if known and known[-1][1] != 1:
            raise _HarmfulAccess("%s: a descriptor whose innermost stride is not 1" % (self.name or "the host"))
        last = sum((n - 1) * s for n, s in known)
        self.inside("%s: a descriptor of %s" % (self.name or "the host", list(shape)), base, 0, (last + 1) * width)

    def descriptor(self, op: Op) -> None:
        """`tt.make_tensor_descriptor %base, [extents], [strides] : <f32>, <tensor<1x4xf32>>`."""
        self.set(op, None)
        head = op.body.partition(" : ")[0]
        lists = [re.findall(r"%[\w.$#-]+", part) for part in re.findall(r"\[([^\]]*)\]", head)]
        names = op.operands()
        if names and len(lists) >= 2:
            shape, strides = ([self.number(n) for n in part] for part in lists[:2])
            self.described(self.get(names[0]), shape, strides, _width(op.body))

    def advance(self, op: Op) -> None:
        """An offset pointer, or a tensor of them."""
        names = op.operands()
        where, offset = (self.get(n) for n in (names + ["", ""])[:2])
        width = _width(op.body)
        if isinstance(where, Pointer) and "tensor<" not in op.body:
            known = where.at is not None and isinstance(offset, int) and width is not None
            self.set(op, replace(where, at=(where.at or 0) + int(offset) * (width or 0) if known else None))
        elif isinstance(where, Places):
            bytes_ = _scaled(offset, width) if isinstance(offset, AffineBlock) and width else None
            self.set(op, Places(where.pointer, _plus(where.offsets, bytes_, 1)))
        else:
            self.set(op, None)

    def splat(self, op: Op) -> None:
        value, extents = self.get(op.operands()[0]), _extents(op.body)
        uniform = AffineBlock(0, (0,) * len(extents), extents)
        if isinstance(value, Pointer):
            self.set(op, Places(value, uniform))
        elif isinstance(value, int):
            self.set(op, _everywhere(extents, bool(value)) if _is_mask(op.body) else replace(uniform, start=int(value)))
        else:
            self.set(op, None)

    def make_range(self, op: Op) -> None:
        found = re.search(r"start = (-?\d+)", op.body)
        extents = _extents(op.body)
        self.set(op, AffineBlock(int(found.group(1)), (1,), extents) if found and len(extents) == 1 else None)

    def expand(self, op: Op) -> None:
        found = re.search(r"axis = (\d+)", op.body)
        value = self.get(op.operands()[0])
        self.set(op, _each_dimension(value, lambda block: _expanded(block, int(found.group(1)))) if found else None)

    def broadcast(self, op: Op) -> None:
        extents = _extents(op.body)
        self.set(op, _each_dimension(self.get(op.operands()[0]), lambda block: _broadcast(block, extents)))

    def keep(self, op: Op) -> None:
        """The same places, read as another type."""
        self.set(op, self.get(op.operands()[0]))

    def block_pointer(self, op: Op) -> None:
        """`tt.make_tensor_ptr`, `tt.advance`: somewhere behind that pointer."""
        value = self.get(op.operands()[0])
        self.set(op, replace(value, at=None) if isinstance(value, Pointer) else None)

    def elementwise(self, op: Op, name: str) -> Any:
        if name == "constant":
            found = re.search(r"dense<(true|false|-?\d+)>", op.body)
            if found is None:
                return None
            extents = _extents(op.body)
            number = scalars.constant(found.group(1)) or 0
            return (
                _everywhere(extents, bool(number))
                if _is_mask(op.body)
                else AffineBlock(number, (0,) * len(extents), extents)
            )
        values = [self.get(n) for n in op.operands()]
        if name == "andi" and _is_mask(op.body):
            return _both(*values[:2]) if len(values) >= 2 else None
        if not values or not all(isinstance(v, AffineBlock) for v in values):
            return None
        if name in _SAME:
            return values[0]
        if len(values) < 2 or values[0].extents != values[1].extents:
            return None
        return self.binary(op, name, values[0], values[1])

    def binary(self, op: Op, name: str, a: AffineBlock, b: AffineBlock) -> Any:
        if name == "cmpi":
            return _where(op.body.partition(",")[0].strip(), a, b)
        if name in ("addi", "subi"):
            return _plus(a, b, 1 if name == "addi" else -1)
        if name == "muli" and (a.uniform or b.uniform):
            return _scaled(a, b.start) if b.uniform else _scaled(b, a.start)
        if a.uniform and b.uniform:
            scalar = re.sub(r"tensor<(?:\d+x)+(\w+)>", r"\1", op.body)
            number = scalars.evaluate(name, scalar, [a.start, b.start])
            return None if number is None else replace(a, start=number, steps=(0,) * len(a.steps))
        return None


@functools.lru_cache(maxsize=None)
def _extents(body: str) -> Extents:
    """Those of the last tensor type named; of a scalar, none."""
    found = re.findall(r"tensor<((?:\d+x)+)", body)
    return tuple(int(n) for n in found[-1].split("x") if n) if found else ()


def _is_mask(body: str) -> bool:
    return body.endswith("xi1>")


@functools.lru_cache(maxsize=None)
def _width(body: str) -> Optional[int]:
    """Bytes of what a pointer in these types points to."""
    found = re.search(r"(?:!tt\.ptr|^|\s)<([a-z]\w*)", body.rpartition(" : ")[2])
    return bits(found.group(1)) // 8 if found else None


def _everywhere(extents: Extents, true: bool = True, exact: bool = True) -> Box:
    return Box(tuple((0, n - 1 if true else -1) for n in extents) if extents or true else ((0, -1),), extents, exact)


def _plus(a: Optional[AffineBlock], b: Optional[AffineBlock], sign: int) -> Optional[AffineBlock]:
    if a is None or b is None or a.extents != b.extents:
        return None
    steps = tuple(x + sign * y for x, y in zip(a.steps, b.steps))
    return AffineBlock(a.start + sign * b.start, steps, a.extents)


def _scaled(block: AffineBlock, by: int) -> AffineBlock:
    return AffineBlock(block.start * by, tuple(step * by for step in block.steps), block.extents)


def _where(predicate: str, a: AffineBlock, b: AffineBlock) -> Optional[Box]:
    """The indices at which a comparison holds, if it looks at one dimension only."""
    if predicate.startswith("u"):
        whole = _everywhere(a.extents)
        if a.hull(whole)[0] < 0 or b.hull(whole)[0] < 0:
            return None
        predicate = "s" + predicate[1:]
    difference = _plus(a, b, -1)
    if predicate not in _BOUNDS or difference is None:
        return None
    least, most = _BOUNDS[predicate]
    varying = [d for d, n in enumerate(difference.extents) if n > 1 and difference.steps[d]]
    if not varying:
        d = difference.start
        return _everywhere(a.extents, (least is None or d >= least) and (most is None or d <= most))
    if len(varying) > 1:
        return None
    spans = [(0, n - 1) for n in a.extents]
    step = difference.steps[varying[0]]
    if step < 0:
        step, least, most = -step, None if most is None else -most, None if least is None else -least
        start = -difference.start
    else:
        start = difference.start
    low, high = spans[varying[0]]
    if least is not None:
        low = max(low, -((start - least) // step))
    if most is not None:
        high = min(high, (most - start) // step)
    spans[varying[0]] = (low, high)
    return Box(tuple(spans), a.extents)


def _both(a: Any, b: Any) -> Optional[Box]:
    """The conjunction of two masks, of which one may be unknown."""
    boxes = [x for x in (a, b) if isinstance(x, Box)]
    if len(boxes) < 2 or boxes[0].extents != boxes[1].extents:
        return replace(boxes[0], exact=False) if boxes else None
    spans = tuple((max(p[0], q[0]), min(p[1], q[1])) for p, q in zip(boxes[0].spans, boxes[1].spans))
    return Box(spans, boxes[0].extents, boxes[0].exact and boxes[1].exact)


def _each_dimension(value: Any, change: Any) -> Any:
    """The same change of shape for offsets, pointers and masks."""
    if isinstance(value, Places):
        return replace(value, offsets=None if value.offsets is None else change(value.offsets))
    return change(value) if isinstance(value, (AffineBlock, Box)) else None


def _inserted(parts: Tuple[Any, ...], axis: int, part: Any) -> Tuple[Any, ...]:
    return (*parts[:axis], part, *parts[axis:])


def _expanded(value: Any, axis: int) -> Any:
    extents = _inserted(value.extents, axis, 1)
    if isinstance(value, AffineBlock):
        return AffineBlock(value.start, _inserted(value.steps, axis, 0), extents)
    return Box(_inserted(value.spans, axis, (0, 0)), extents, value.exact)


def _broadcast(value: Any, extents: Extents) -> Any:
    if len(extents) != len(value.extents):
        return None
    wider = [n == 1 and m > 1 for n, m in zip(value.extents, extents)]
    if isinstance(value, AffineBlock):
        return AffineBlock(value.start, tuple(0 if w else s for w, s in zip(wider, value.steps)), extents)
    spans = ((0, m - 1) if w and span == (0, 0) else span for w, span, m in zip(wider, value.spans, extents))
    return Box(tuple(spans), extents, value.exact)


_HANDLERS: Dict[str, Any] = {
    **dict.fromkeys(_MASKED_BY, _Accesses.access),
    **dict.fromkeys(("tt.make_tensor_ptr", "tt.advance"), _Accesses.block_pointer),
    "tt.make_tensor_descriptor": _Accesses.descriptor,
    "tt.addptr": _Accesses.advance,
    "tt.splat": _Accesses.splat,
    "tt.make_range": _Accesses.make_range,
    "tt.expand_dims": _Accesses.expand,
    "tt.broadcast": _Accesses.broadcast,
    "tt.bitcast": _Accesses.keep,
}
