"""Integers of a whole launch at once: one number for all lanes, a tensor of them, or a sum of tensors.

A lane is one element of a block, in one program instance, in one trip of each loop around it. Each of these is an axis
of a tensor, counted from the right: the dimensions of the block, then the program's three indices, then the loops from
the inside out. A value that does not change along an axis has extent 1 there, so `row * stride + col` costs as many
numbers as there are rows and columns, not their product. A sum stays a tuple of such terms for as long as it can.

`Pair` holds a value as the kernel computes it beside the one that exact arithmetic would give; where they are equal
there is no Pair. `Unfollowed` absorbs whatever it meets, and says why.
"""

from __future__ import annotations

from typing import Any, Callable, Iterable, List, Optional, Sequence, Tuple, Union

import torch

LIMIT = 1 << 20
"""Lanes of one tensor. Beyond that some program instances are looked at, or it is unknown."""
ALL = 1 << 30


class TooLarge(Exception):
    """A value that would take more numbers than may be spent on one."""


class Unfollowed:
    """A value that cannot be followed, with the reason. `bound`: of a mask, where alone it may hold; else None."""

    __slots__ = ("why", "bound")

    def __init__(self, why: str, bound: Any = None) -> None:
        self.why = why
        self.bound = bound


class Lanes:
    """A tensor of int64 (of float64 beyond 64 bits, of bool for a mask), no value of which leaves `low` to `high`."""

    __slots__ = ("data", "low", "high", "_tight")

    def __init__(self, data: Any, low: int, high: int, tight: bool = False) -> None:
        self.data = data
        self.low = low
        self.high = high
        self._tight = tight

    def tighten(self) -> "Lanes":
        """Bounds that some lane attains."""
        if not self._tight:
            if self.data.numel():
                low, high = (end.item() for end in torch.aminmax(self.data))
                self.low, self.high = int(low), int(high)
            self._tight = True
        return self


class Sum:
    """`constant + sum(terms)`, no two terms of the same shape."""

    __slots__ = ("terms", "constant", "low", "high")

    def __init__(self, terms: Tuple[Lanes, ...], constant: int) -> None:
        self.terms = terms
        self.constant = constant
        self.low = constant + sum(term.low for term in terms)
        self.high = constant + sum(term.high for term in terms)


class Both:
    """A mask that holds where all of its factors do."""

    __slots__ = ("factors",)

    def __init__(self, factors: Tuple[Lanes, ...]) -> None:
        self.factors = factors


Number = Union[int, Lanes, Sum, Both]


class Pair:
    """`wrapped` as the kernel has it, `exact` as it would be without a limit of bits."""

    __slots__ = ("wrapped", "exact")

    def __init__(self, wrapped: Number, exact: Number) -> None:
        self.wrapped = wrapped
        self.exact = exact


def wrapped(value: Any) -> Any:
    return value.wrapped if isinstance(value, Pair) else value


def number(value: Any) -> Optional[int]:
    """As computed, where that is one known number."""
    value = wrapped(value)
    return value if isinstance(value, int) else None


def exact(value: Any) -> Any:
    return value.exact if isinstance(value, Pair) else value


def pair(as_computed: Number, in_exact: Number) -> Any:
    """The two as one value; no Pair where they are equal."""
    if as_computed is in_exact:
        return as_computed
    if isinstance(as_computed, int) and isinstance(in_exact, int):
        return as_computed if as_computed == in_exact else Pair(as_computed, in_exact)
    if isinstance(as_computed, Lanes) and isinstance(in_exact, Lanes):
        one, other = as_computed.data, in_exact.data
        if one.shape == other.shape and torch.equal(one, other.to(one.dtype)):
            return as_computed
    return Pair(as_computed, in_exact)


_INT64 = 1 << 63


class Algebra:
    """Arithmetic on numbers. `limit`: elements that one tensor may have."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit

    def tensor(self, value: Number) -> Any:
        """One tensor of all lanes, as far as they differ."""
        if isinstance(value, int):
            return torch.tensor(value, dtype=torch.int64)
        if isinstance(value, Lanes):
            return value.data
        if isinstance(value, Both):
            self.check(factor.data.shape for factor in value.factors)
            found = value.factors[0].data
            for factor in value.factors[1:]:
                found = found & factor.data
            return found
        self.check(term.data.shape for term in value.terms)
        found = value.terms[0].data + value.constant
        for term in value.terms[1:]:
            found = found + term.data
        return found

    def lanes(self, value: Number) -> Union[int, Lanes]:
        """The value as one tensor, with its bounds."""
        if isinstance(value, (int, Lanes)):
            return value
        if isinstance(value, Both):
            return Lanes(self.tensor(value), 0, 1)
        return Lanes(self.tensor(value), value.low, value.high)

    def check(self, shapes: Iterable[Any]) -> None:
        """Raise TooLarge if what these broadcast to is more than may be spent."""
        if elements(broadcast(shapes)) > self.limit:
            raise TooLarge

    def add(self, a: Number, b: Number) -> Number:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        constant = 0
        terms: List[Lanes] = []
        for value in (a, b):
            value = self.lanes(value) if isinstance(value, Both) else value
            if isinstance(value, int):
                constant += value
            elif isinstance(value, Sum):
                constant += value.constant
                terms += value.terms
            else:
                terms.append(value)
        return self._sum(terms, constant)

    def _sum(self, terms: Sequence[Lanes], constant: int) -> Number:
        """Terms that run along the same axes are one."""
        merged: List[Lanes] = []
        for term in terms:
            term = _as_integers(term)
            axes = varying(term.data.shape)
            for at, other in enumerate(merged):
                if axes == varying(other.data.shape):
                    merged[at] = Lanes(_plus(other, term), other.low + term.low, other.high + term.high)
                    break
            else:
                merged.append(term)
        if not merged:
            return constant
        if len(merged) == 1:
            only = merged[0]
            if not constant:
                return only
            return Lanes(_plus(only, constant), only.low + constant, only.high + constant)
        return Sum(tuple(merged), constant)

    def negative(self, a: Number) -> Number:
        return self.multiply(a, -1)

    def multiply(self, a: Number, b: Number) -> Number:
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if isinstance(a, int) or isinstance(b, (Sum, Both)) and not isinstance(a, (Sum, Both)):
            a, b = b, a
        if isinstance(b, int) and b in (0, 1):
            return a if b else 0
        b = self.lanes(b)
        if isinstance(a, Sum):
            scaled = [self._times(term, b) for term in a.terms]
            constant = self._times(b, a.constant) if isinstance(b, Lanes) and a.constant else None
            rest = a.constant * b if isinstance(b, int) else 0
            return self._sum(scaled + ([constant] if constant is not None else []), rest)
        one = self.lanes(a)
        return one * b if isinstance(one, int) and isinstance(b, int) else self._times(one, b)

    def _times(self, a: Any, b: Union[int, Lanes]) -> Lanes:
        a = _as_integers(a)
        b = _as_integers(b) if isinstance(b, Lanes) else b
        low, high = _product(a, b)
        if low < -_INT64 or high >= _INT64:
            a.tighten()
            if isinstance(b, Lanes):
                b.tighten()
            low, high = _product(a, b)
        if isinstance(b, Lanes):
            self.check((a.data.shape, b.data.shape))
        one, other = a.data, b.data if isinstance(b, Lanes) else b
        if low < -_INT64 or high >= _INT64:
            one, other = one.double(), float(other) if isinstance(other, int) else other.double()
        return Lanes(one * other, low, high)

    def elementwise(
        self, make: Callable[[Any, Any], Any], a: Number, b: Number, bounds: Optional[Tuple[int, int]] = None
    ) -> Lanes:
        """A function of two tensors, lane by lane. `bounds`: what the result cannot leave, where that is known."""
        one, other = self.tensor(a), self.tensor(b)
        self.check((one.shape, other.shape))
        return bounded(make(one, other), bounds)

    def both(self, a: Number, b: Number) -> Number:
        """The `and` of two masks."""
        factors: List[Lanes] = []
        for value in (a, b):
            if isinstance(value, int):
                if not value:
                    return 0
            elif isinstance(value, Both):
                factors += value.factors
            else:
                factors.append(as_mask(self.lanes(value)))
        factors = list({id(factor): factor for factor in factors}.values())
        return 1 if not factors else factors[0] if len(factors) == 1 else Both(tuple(factors))

    def either(self, a: Number, b: Number) -> Number:
        if isinstance(a, int):
            return b if not a else 1
        if isinstance(b, int):
            return a if not b else 1
        return as_mask(self.elementwise(torch.logical_or, a, b, (0, 1)))

    def opposite(self, a: Number) -> Number:
        if isinstance(a, int):
            return int(not a)
        return Lanes(~as_mask(self.lanes(a)).data, 0, 1)

    def choose(self, condition: Number, yes: Number, no: Number) -> Number:
        if isinstance(condition, int):
            return yes if condition else no
        if yes is no or isinstance(yes, int) and isinstance(no, int) and yes == no:
            return yes
        mask, one, other = as_mask(self.lanes(condition)).data, self.tensor(yes), self.tensor(no)
        self.check((mask.shape, one.shape, other.shape))
        if one.dtype == torch.bool or other.dtype == torch.bool:
            return Lanes(torch.where(mask, one.bool(), other.bool()), 0, 1)
        limits = [end for value in (yes, no) for end in ends(value)]
        return Lanes(torch.where(mask, one, other), min(limits), max(limits))

    def wrap(self, value: Number, bits: int) -> Number:
        """The value in two's complement of so many bits."""
        half = 1 << (bits - 1)
        if isinstance(value, int):
            return (value + half) % (2 * half) - half if bits > 1 else value & 1
        if fits(value, bits):
            return value
        found = self.lanes(value)
        assert isinstance(found, Lanes)
        if fits(found.tighten(), bits):
            return value
        data = found.data
        if bits >= 64:
            data = _wrapped_float(data) if data.dtype == torch.float64 else data
        else:
            data = _wrapped_float(data) if data.dtype == torch.float64 else data
            data = ((data + half) & (2 * half - 1)) - half
        return Lanes(data, -half, half - 1)


def fits(value: Any, bits: int) -> bool:
    """Whether no lane needs more bits, as far as the bounds tell."""
    if bits <= 1 or isinstance(value, Both):
        return True
    half = 1 << (bits - 1)
    low, high = ends(value)
    return -half <= low and high < half


def varying(shape: Any) -> Tuple[int, ...]:
    """The axes, counted from the right, along which a tensor of this shape may change."""
    last = len(shape)
    return tuple(last - at for at, n in enumerate(shape) if n != 1)


def broadcast(shapes: Iterable[Any]) -> Tuple[int, ...]:
    """The shape that these come to together."""
    out: List[int] = []
    for shape in shapes:
        while len(out) < len(shape):
            out.insert(0, 1)
        for at in range(1, len(shape) + 1):
            if shape[-at] != 1:
                out[-at] = shape[-at]
    return tuple(out)


def elements(shape: Sequence[int]) -> int:
    count = 1
    for n in shape:
        count *= n
    return count


def bounded(data: Any, bounds: Optional[Tuple[int, int]] = None) -> Lanes:
    """A tensor with its bounds: those given, or the tightest."""
    if bounds is not None:
        return Lanes(data, *bounds)
    if data.dtype == torch.bool:
        return Lanes(data, 0, 1)
    return Lanes(data, 0, 0).tighten()


def as_mask(value: Any) -> Lanes:
    """Lanes of bool."""
    return value if value.data.dtype == torch.bool else Lanes(value.data != 0, 0, 1)


def _as_integers(value: Any) -> Any:
    if isinstance(value, Lanes) and value.data.dtype == torch.bool:
        return Lanes(value.data.to(torch.int64), value.low, value.high)
    return value


def _plus(one: Lanes, other: Any) -> Any:
    data = one.data
    low, high = ends(other)
    if one.low + low < -_INT64 or one.high + high >= _INT64:
        data = data.double()
    return data + (other.data if isinstance(other, Lanes) else other)


def ends(value: Any) -> Tuple[int, int]:
    """Bounds of a number over all lanes."""
    if isinstance(value, int):
        return value, value
    return (0, 1) if isinstance(value, Both) else (value.low, value.high)


def _product(a: Any, b: Any) -> Tuple[int, int]:
    corners = [x * y for x in ends(a) for y in ends(b)]
    return min(corners), max(corners)


def _wrapped_float(data: Any) -> Any:
    """What is left of numbers beyond 64 bits in 64 bits: the upper bits that a float64 keeps, and no more."""
    return torch.remainder(data + float(_INT64), 2.0 * _INT64).sub(float(_INT64)).clamp(-9.2e18, 9.2e18).to(torch.int64)
