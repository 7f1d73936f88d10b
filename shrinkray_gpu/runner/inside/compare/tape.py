"""Tape: what torch did in a run, to be done again in float64, or without a step: which side of a check does not stand.

Kept by memory, not by tensor: a view is a window on what its memory holds, there and here. Values that no operation of
torch made are copied when they come, and those that a launch wrote after it. Nothing is said of what comes out
otherwise when it is done again as it was: somebody wrote past torch.
"""

from __future__ import annotations

from typing import Any, Container, Dict, FrozenSet, Iterator, List, NamedTuple, Set, Tuple

from .disagreement import NARROW, TOLERANCE
from .provenance import DRAWS, ComparedTensors
from .sides import distance, elements, values_of
from .unwritten import EMPTY
from .watched_launch import quiet

ROOM = 1 << 30
"""Bytes that are held for it."""
MOST = 20_000
"""Operations."""
FAR, NEAR = 0.5, 0.1
"""Of how far the two sides are apart: a side that is further from a third value than `FAR` is not that; one that is
nearer than `NEAR` is."""


class _Step(NamedTuple):
    func: Any
    """None: values came from elsewhere."""
    args: Any
    out: Any
    values: Any
    reads: FrozenSet[int]
    writes: FrozenSet[int]
    """Memory, as `_memory` names it."""
    launch: str = ""


class BlamedSide(NamedTuple):
    side: str
    """What does not stand: `reference`, `tolerance`, `input`; empty: not known."""
    words: str


class Tape:
    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.trouble = False
        """Whether it is of no use: too much was done, or something that cannot be done again."""
        self.launching = 0
        """Of how many launches operations come now: they are no part of it, and what a launch wrote is copied."""
        self._steps: List[_Step] = []
        self._known: Dict[int, Any] = {}
        """What is held, so that no other gets its name."""
        self._held = 0

    def before(self, given: List[Any]) -> None:
        """An operation is to have these."""
        for tensor in given:
            if _memory(tensor) not in self._known:
                self._came([tensor])

    def did(self, name: str, func: Any, args: Any, out: Any, given: List[Any], made: List[Any]) -> None:
        """An operation was done; `args` are its arguments, in order and by name."""
        if name in DRAWS or name in EMPTY or (made and not given):
            self._came(made)
            return
        if name == "set_":
            return  # another window
        fresh = [each for each in made if _memory(each) not in self._known]
        changes = func._schema.is_mutable
        if not (fresh or changes):
            return  # a view, or no tensor
        self._hold(fresh)
        written = _changed(self.torch, func, args) if changes else []
        reads = frozenset(map(_memory, given))
        self._add(_Step(func, args, out, None, reads, frozenset(map(_memory, [*fresh, *written]))))

    def launched(self, kernel: str, read: List[Any], written: List[Any]) -> None:
        self._came(written, kernel, frozenset(map(_memory, read)))

    def _came(self, tensors: List[Any], kernel: str = "", read: FrozenSet[int] = frozenset()) -> None:
        self._hold(tensors)
        if self.trouble:
            return
        with quiet(self.torch):
            values = [elements(self.torch, each).clone() for each in tensors]
        self._add(_Step(None, (), tensors, values, read, frozenset(map(_memory, tensors)), kernel))

    def _hold(self, tensors: List[Any]) -> None:
        self._known.update((_memory(each), each.untyped_storage()) for each in tensors)
        self._held += 2 * sum(each.untyped_storage().nbytes() for each in tensors)

    def _add(self, step: _Step) -> None:
        self._steps.append(step)
        if self._held > ROOM or len(self._steps) > MOST:
            self.trouble = True
        if self.trouble:
            self._steps.clear()

    def blame(self, compared: ComparedTensors, written: List[Any]) -> BlamedSide:
        """What does not stand of a check, of a kernel that wrote these last."""
        if self.trouble or compared.expected is None or compared.others or not compared.kernels:
            return BlamedSide("", "")
        with quiet(self.torch):
            actual, expected = (values_of(self.torch, each) for each in (compared.actual, compared.expected))
            apart = distance(self.torch, actual, expected)
            wanted = self._needed(compared.expected)
            as_it_was = self._again(compared.expected, wanted, doubles=False)
            off = distance(self.torch, as_it_was, expected)
            if off["kind"] == "nan" or off["largest"] > max(1e-3 * apart["largest"], 1e-6 * _top(expected)):
                return BlamedSide("", "")
            kernel = compared.kernels[-1]
            kinds = [each.dtype for each in (*written, compared.actual, compared.expected)]
            floats = [each for each in kinds if each.is_floating_point]
            if not floats:
                return BlamedSide("", "")
            narrows = any(map(self._narrows, set(wanted) - self._before(compared.kernels)))
            coarse = max(floats, key=lambda each: float(self.torch.finfo(each).eps))
            exact = self._again(compared.expected, wanted, doubles=True)
            theirs, ours = (distance(self.torch, each, exact) for each in (expected, actual))
            made = self._made_as(compared.actual, actual, written)
            if not narrows and self._are_rounded(actual, expected, exact, made, compared.expected.dtype):
                return BlamedSide("tolerance", _ROUNDED % _name(made))
            agrees = _is_near(ours, apart) and self._agrees(ours, exact, coarse)
            if not narrows and agrees and _is_far(theirs, apart):
                by = "" if theirs["kind"] == "nan" else ", by up to %.3g" % theirs["largest"]
                words = "off%s" % by if by else "not finite"
                return BlamedSide("reference", _REFERENCE % (kernel, words, theirs["elements"], theirs["total"]))
            if changed := self._changing(wanted, compared):
                without = self._again(compared.expected, wanted, doubles=False, without=[at for at, _ in changed])
                left = distance(self.torch, actual, without)
                if _is_near(left, apart) and self._agrees(left, without, coarse):
                    names = ", ".join(dict.fromkeys(name for _, name in changed))
                    return BlamedSide("input", _CHANGED % (names, kernel))
            return BlamedSide("", _NARROWS if narrows else _STANDS if not _is_far(theirs, apart) else _MOVES)

    def _needed(self, tensor: Any) -> List[int]:
        """The steps that it comes from."""
        memory, found = {_memory(tensor)}, []
        for number in range(len(self._steps) - 1, -1, -1):
            step = self._steps[number]
            if step.writes & memory:
                found.append(number)
                memory |= step.reads if step.func is not None else set()
        return found[::-1]

    def _before(self, kernels: Container[str]) -> Set[int]:
        """The steps that what the launches of these read comes from."""
        memory: Set[int] = set()
        found = set()
        for number in range(len(self._steps) - 1, -1, -1):
            step = self._steps[number]
            if step.launch in kernels:
                memory |= step.reads
            elif step.func is not None and step.writes & memory:
                found.add(number)
                memory |= step.reads
        return found

    def _narrows(self, number: int) -> bool:
        """Whether this step rounds to a narrower type: a kernel that leaves that out is wrong, and in float64 it is not
        done either."""
        step = self._steps[number]
        if step.func is None:
            return False
        given = self._limits(step.args)
        made = self._limits((step.out, _changed(self.torch, step.func, step.args)))
        return any(to.eps > of.eps or to.max < of.max for to in made for of in given)

    def _limits(self, value: Any) -> List[Any]:
        """Of the types of the tensors in it that are no whole numbers."""
        tensors = filter(self.torch.is_tensor, self.torch.utils._pytree.tree_flatten(value)[0])
        kinds = {each.dtype for each in tensors if each.is_floating_point() or each.is_complex()}
        return [self.torch.finfo(kind) for kind in kinds]

    def _changing(self, wanted: List[int], compared: ComparedTensors) -> List[Tuple[int, str]]:
        """Those of these steps that change in place, between the launches that the check is of and the check, what
        these read and no launch wrote since."""
        read: Set[int] = set()
        found: List[Tuple[int, str]] = []
        both = {_memory(compared.actual), _memory(compared.expected)}
        held = [at for at, step in enumerate(self._steps) if step.func is not None and both <= step.reads]
        for number, step in enumerate(self._steps[: held[-1] if held else None]):
            if step.launch:
                read -= step.writes
                if step.launch in compared.kernels:
                    read |= step.reads - step.writes
                    found.clear()
            elif step.func is not None and step.func._schema.is_mutable and number in wanted and step.writes & read:
                found.append((number, str(step.func._schema.name).rpartition("::")[2]))
        return found

    def _again(self, tensor: Any, wanted: List[int], *, doubles: bool, without: Container[int] = ()) -> Any:
        """Its values, by these steps alone. Raises whatever torch does of what it cannot do."""
        held: Dict[int, Tuple[Any, Any]] = {}
        for number in wanted:
            step = self._steps[number]
            if number in without:
                continue
            if step.func is None:
                for each, values in zip(step.out, step.values):
                    held[_memory(each)] = (each.dtype, values.to(self._kind(values.dtype, doubles), copy=True))
                continue
            args, named = (self._given(each, held, doubles) for each in step.args)
            out = step.func(*args, **named)
            for made, real in zip(self._tensors(out), self._tensors(step.out)):
                if _memory(real) in step.writes and _memory(real) not in held:
                    size = real.untyped_storage().nbytes() // real.element_size()
                    room = self.torch.zeros(size, dtype=made.dtype, device=made.device)
                    held[_memory(real)] = (real.dtype, room)
                    self._window(real, held).copy_(made)
        return values_of(self.torch, self._window(tensor, held))

    def _window(self, tensor: Any, held: Dict[int, Tuple[Any, Any]]) -> Any:
        kind, memory = held[_memory(tensor)]
        if kind is not tensor.dtype or tensor.is_conj() or tensor.is_neg():
            raise ValueError("another view of the bytes")
        return self.torch.as_strided(memory, tensor.shape, tensor.stride(), tensor.storage_offset())

    def _given(self, value: Any, held: Dict[int, Tuple[Any, Any]], doubles: bool) -> Any:
        if isinstance(value, self.torch.Tensor):
            return self._window(value, held)
        if isinstance(value, self.torch.dtype):
            return self._kind(value, doubles)
        if isinstance(value, self.torch.device):
            return next(iter(held.values()))[1].device if held else value
        if isinstance(value, (tuple, list)):
            return type(value)(self._given(each, held, doubles) for each in value)
        if isinstance(value, dict):
            return {name: self._given(each, held, doubles) for name, each in value.items()}
        return value

    def _kind(self, dtype: Any, doubles: bool) -> Any:
        if doubles and (dtype.is_floating_point or dtype.is_complex):
            return self.torch.complex128 if dtype.is_complex else self.torch.float64
        return dtype

    def _tensors(self, value: Any) -> Iterator[Any]:
        for each in value if isinstance(value, (tuple, list)) else [value]:
            if isinstance(each, self.torch.Tensor):
                yield each

    def _made_as(self, tensor: Any, values: Any, written: List[Any]) -> Any:
        """The type to which a kernel rounded what came to be these values."""
        kinds = {each.dtype for each in written}
        if len(kinds) != 1 or _memory(tensor) in map(_memory, written):
            return tensor.dtype
        kind = kinds.pop()
        is_converted = kind.is_floating_point and bool((values.to(kind).to(values.dtype) == values).all())
        return kind if is_converted else tensor.dtype

    def _are_rounded(self, actual: Any, expected: Any, exact: Any, made: Any, theirs: Any) -> bool:
        """Whether each element of a kernel's is the exact one as its type rounds it; and of the reference, up to twice
        as far, since that may round on its way."""
        if not (made.is_floating_point and theirs.is_floating_point):
            return False
        bound, other = self._half_step(exact, made), self._half_step(exact, theirs)
        ours_fit = ((actual - exact).abs() <= 1.001 * bound).all()  # the exact ones are doubles
        return bool(ours_fit and ((expected - exact).abs() <= 2 * bound.maximum(other)).all())

    def _half_step(self, exact: Any, kind: Any) -> Any:
        """How far this type's nearest number is from each of these at most."""
        limits = self.torch.finfo(kind)
        magnitude = exact.abs().clamp(min=float(limits.smallest_normal))
        exponents = self.torch.frexp(magnitude).exponent.to(exact.dtype) - 1
        return float(limits.eps) / 2 * self.torch.exp2(exponents)

    def _agrees(self, off: Dict[str, Any], exact: Any, coarse: Any) -> bool:
        """Whether that is what rounding explains."""
        return bool(off["largest"] <= TOLERANCE.get(_name(coarse), NARROW) * _top(exact))


_ROUNDED = (
    "both sides are what the reference makes in float64, to the last digit of %s: the check asks for more digits than "
    "that has"
)
_REFERENCE = (
    "the reference does not stand: made again in float64 it agrees with what %s wrote, and the expected values are %s "
    "in %d of %d elements"
)
_CHANGED = "%s changes what %s had read, before the expected values are made of it: without that the two sides agree"
_STANDS = (
    "made again in float64, the reference is the same: whether the kernel is wrong, or the reference asks for "
    "something else, is not known"
)
_NARROWS = "whether the reference stands is not known: it rounds to a narrower type, which float64 leaves out"
_MOVES = "made again in float64, the reference is another, and not what the kernel wrote either"


def _memory(tensor: Any) -> int:
    return int(tensor.untyped_storage()._cdata)


def _changed(torch: Any, func: Any, args: Any) -> List[Any]:
    """The arguments that an operation writes to."""
    positional, named = args
    marked = [each for each in func._schema.arguments if each.alias_info is not None and each.alias_info.is_write]
    found: List[Any] = []
    for number, each in enumerate(func._schema.arguments):
        if each in marked:
            value = positional[number] if number < len(positional) else named.get(each.name)
            found += [x for x in (value if isinstance(value, (tuple, list)) else [value]) if torch.is_tensor(x)]
    return found


def _top(values: Any) -> float:
    """The largest magnitude of finite ones."""
    finite = values[values.isfinite()]
    return float(finite.abs().max()) if finite.numel() else 0.0


def _name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def _is_near(off: Dict[str, Any], apart: Dict[str, Any]) -> bool:
    """Whether values are that near to others, of how far the two sides are apart; finite where one side is not."""
    return bool(off["kind"] != "nan" and (apart["kind"] == "nan" or off["largest"] <= NEAR * apart["largest"]))


def _is_far(off: Dict[str, Any], apart: Dict[str, Any]) -> bool:
    return bool(off["kind"] == "nan" or (apart["kind"] != "nan" and off["largest"] >= FAR * apart["largest"]))
