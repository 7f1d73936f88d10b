"""Integer arithmetic of the IR, for all lanes at once: a table from an operation's name to what it does.

Each takes the operands as the kernel computes them, or all as exact arithmetic has them; `evaluate` calls it for both
where they differ.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

import torch

from .numbers import Algebra, Lanes, Number, Unfollowed, as_mask, exact, fits, pair, wrapped
from .types import integer_bits, signature, source_bits

_CONSTANT = re.compile(r"^(?:\{[^}]*\} )?(?:dense<)?(true|false|-?\d+)>?(?= :|$)")
_SAME = ("bitcast", "index_cast")
_UNSIGNED = {"divui": "divsi", "remui": "remsi", "ceildivui": "ceildivsi", "minui": "minsi", "maxui": "maxsi"}


def _divide(a: Any, b: Any, how: str) -> Any:
    safe = torch.where(b == 0, torch.ones_like(b), b)
    if how == "ceil":
        return -torch.div(-a, safe, rounding_mode="floor")
    return torch.div(a, safe, rounding_mode=how)


def _remainder(a: Any, b: Any) -> Any:
    safe = torch.where(b == 0, torch.ones_like(b), b)
    return torch.fmod(a, safe)


_ELEMENTWISE: Dict[str, Callable[[Any, Any], Any]] = {
    "divsi": lambda a, b: _divide(a, b, "trunc"),
    "floordivsi": lambda a, b: _divide(a, b, "floor"),
    "ceildivsi": lambda a, b: _divide(a, b, "ceil"),
    "remsi": _remainder,
    "minsi": torch.minimum,
    "maxsi": torch.maximum,
    "andi": torch.bitwise_and,
    "ori": torch.bitwise_or,
    "xori": torch.bitwise_xor,
    "shli": lambda a, b: torch.bitwise_left_shift(a, b.clamp(0, 63)),
    "shrsi": lambda a, b: torch.bitwise_right_shift(a, b.clamp(0, 63)),
}
_COMPARE: Dict[str, Callable[[Any, Any], Any]] = {
    "eq": torch.eq,
    "ne": torch.ne,
    "slt": torch.lt,
    "sle": torch.le,
    "sgt": torch.gt,
    "sge": torch.ge,
}
NARROWING = ("addi", "subi", "muli", "shli", "trunci", "absi")
"""Operations whose result may not fit into the bits that it has."""


def evaluate(algebra: Algebra, name: str, body: str, operands: Sequence[Any]) -> Any:
    """The result of `arith.<name>`: a number, a Pair, or Unfollowed."""
    if name == "constant":
        found = _CONSTANT.match(body)
        if found is None:
            return Unfollowed("a constant that is no integer")
        text = found.group(1)
        return 1 if text == "true" else 0 if text == "false" else int(text)
    known = _despite_unknown(algebra, name, operands)
    if known is not None:
        return known
    bits = integer_bits(signature(body))
    if not bits:
        return Unfollowed("arith.%s of floats" % name)
    compute = _operation(algebra, name, body, bits)
    if compute is None:
        return Unfollowed("arith.%s" % name)
    as_computed = compute([wrapped(value) for value in operands], True)
    if all(wrapped(value) is exact(value) for value in operands):
        if name not in NARROWING or fits(as_computed, bits):
            return as_computed
        in_exact = as_computed
    else:
        in_exact = compute([exact(value) for value in operands], False)
    return pair(algebra.wrap(as_computed, bits) if name in NARROWING else as_computed, in_exact)


def _despite_unknown(algebra: Algebra, name: str, operands: Sequence[Any]) -> Any:
    """What is known although an operand is not; None where all are known."""
    if name == "select" and len(operands) == 3:
        condition, yes, no = operands
        if isinstance(condition, Unfollowed):
            return yes if yes is no or isinstance(yes, int) and yes == no else condition
        condition = wrapped(condition)
        if isinstance(condition, int):
            return yes if condition else no
    unknown = next((value for value in operands if isinstance(value, Unfollowed)), None)
    if unknown is None:
        return None
    others = [value for value in operands if not isinstance(value, Unfollowed)]
    if name in ("muli", "andi") and any(isinstance(value, int) and value == 0 for value in others):
        return 0
    if name == "andi" and others:  # of a mask: it holds at most where the other one does
        bound = wrapped(others[0])
        if unknown.bound is not None:
            bound = algebra.both(unknown.bound, bound)
        return Unfollowed(unknown.why, bound)
    return Unfollowed(unknown.why, unknown.bound if name == "andi" else None)


def _operation(algebra: Algebra, name: str, body: str, bits: int) -> Optional[Callable[[Sequence[Any], bool], Number]]:
    """What the operation does with its operands; `limited` says whether they have the kernel's bits."""
    if name in _SAME:
        return lambda values, limited: values[0]
    if name == "addi":
        return lambda values, limited: algebra.add(*values)
    if name == "subi":
        return lambda values, limited: algebra.add(values[0], algebra.negative(values[1]))
    if name == "muli":
        return lambda values, limited: algebra.multiply(*values)
    if name in ("extsi", "extui", "index_castui", "trunci"):
        return lambda values, limited: _resized(algebra, name, values[0], source_bits(signature(body)), limited)
    if name == "cmpi":
        predicate = body.partition(",")[0].strip()
        return lambda values, limited: _compared(algebra, predicate, values, bits, limited)
    if name == "select":
        return lambda values, limited: algebra.choose(*values)
    if bits == 1 and name in ("andi", "muli", "minui"):
        return lambda values, limited: algebra.both(*values)
    if bits == 1 and name in ("ori", "maxui"):
        return lambda values, limited: algebra.either(*values)
    if bits == 1 and name in ("xori", "addi"):
        return lambda values, limited: _differ(algebra, *values)
    if name == "shrui":
        return lambda values, limited: _elementwise(algebra, "shrsi", [_unsigned(algebra, values[0], bits), values[1]])
    if name in _UNSIGNED:
        plain = _UNSIGNED[name]
        return lambda values, limited: _elementwise(algebra, plain, [_unsigned(algebra, v, bits) for v in values])
    if name in _ELEMENTWISE:
        return lambda values, limited: _elementwise(algebra, name, values)
    return None


def _elementwise(algebra: Algebra, name: str, values: Sequence[Number]) -> Number:
    a, b = values
    if isinstance(a, int) and isinstance(b, int):
        if name in ("divsi", "remsi", "floordivsi", "ceildivsi") and b == 0:
            return 0
        return _of_integers(name, a, b)
    return algebra.elementwise(_ELEMENTWISE[name], a, b, _limits(name, a, b))


def _of_integers(name: str, a: int, b: int) -> int:
    if name in ("divsi", "remsi"):
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return quotient if name == "divsi" else a - b * quotient
    return {
        "floordivsi": lambda: a // b,
        "ceildivsi": lambda: -(-a // b),
        "minsi": lambda: min(a, b),
        "maxsi": lambda: max(a, b),
        "andi": lambda: a & b,
        "ori": lambda: a | b,
        "xori": lambda: a ^ b,
        "shli": lambda: a << max(0, min(b, 63)),
        "shrsi": lambda: a >> max(0, min(b, 63)),
    }[name]()


def _limits(name: str, a: Any, b: Any) -> Optional[Tuple[int, int]]:
    """What the result cannot leave, where that costs no look at it."""
    if name == "remsi" and isinstance(b, int) and b:
        return (-abs(b) + 1 if isinstance(a, int) or a.low < 0 else 0), abs(b) - 1
    if name == "divsi" and isinstance(b, int) and b > 0 and not isinstance(a, int):
        return min(a.low // b, 0) if a.low < 0 else a.low // b, max(a.high // b, 0)
    return None


def _differ(algebra: Algebra, a: Number, b: Number) -> Number:
    if isinstance(b, int):
        a, b = b, a
    if isinstance(a, int):
        return algebra.opposite(b) if a else b
    return algebra.elementwise(torch.logical_xor, a, b, (0, 1))


def _unsigned(algebra: Algebra, value: Number, bits: int) -> Number:
    """The same bits, read without a sign."""
    if isinstance(value, int):
        return value & ((1 << bits) - 1)
    if bits >= 64 or getattr(value, "low", 0) >= 0:
        return value
    found = algebra.lanes(value)
    assert isinstance(found, Lanes)
    if found.tighten().low >= 0:
        return value
    if found.data.dtype != torch.int64:
        return found
    return Lanes(found.data & ((1 << bits) - 1), 0, (1 << bits) - 1)


def _resized(algebra: Algebra, name: str, value: Number, source: int, limited: bool) -> Number:
    if name == "trunci":
        return value
    if source == 1:
        found = algebra.lanes(value)
        if isinstance(found, int):
            return -found if name == "extsi" else found
        number = Lanes(as_mask(found).data.to(torch.int64), 0, 1)
        return algebra.negative(number) if name == "extsi" else number
    return _unsigned(algebra, value, source) if name != "extsi" and limited else value


def _compared(algebra: Algebra, predicate: str, values: Sequence[Number], bits: int, limited: bool) -> Number:
    a, b = values
    if predicate.startswith("u"):
        if limited:
            a, b = _unsigned(algebra, a, bits), _unsigned(algebra, b, bits)
        predicate = "s" + predicate[1:]
    settled = _settled(predicate, a, b)
    if settled is not None:
        return settled
    return algebra.elementwise(_COMPARE[predicate], a, b, (0, 1))


def _settled(predicate: str, a: Any, b: Any) -> Optional[int]:
    """The answer that is the same for all lanes, by the bounds alone."""
    (a_low, a_high), (b_low, b_high) = (
        (value, value) if isinstance(value, int) else (getattr(value, "low", 0), getattr(value, "high", 1))
        for value in (a, b)
    )
    if a_high < b_low:
        return int(predicate in ("slt", "sle", "ne"))
    if a_low > b_high:
        return int(predicate in ("sgt", "sge", "ne"))
    if a_low == a_high == b_low == b_high:
        return int(predicate in ("eq", "sle", "sge"))
    if predicate == "sle" and a_high <= b_low or predicate == "sge" and a_low >= b_high:
        return 1
    if predicate == "slt" and a_low >= b_high or predicate == "sgt" and a_high <= b_low:
        return 0
    return None
