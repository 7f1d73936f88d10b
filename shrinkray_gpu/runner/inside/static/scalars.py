"""Integer arithmetic of the IR on known numbers; None is an unknown number, and so is whatever comes of it."""

from __future__ import annotations

import re
from typing import Callable, Dict, List, Optional

Number = Optional[int]

_WIDTH = re.compile(r": (i\d+|index)\b")
_CONSTANT = re.compile(r"^(true|false|-?\d+)(?= :|$)")
_COMPARE: Dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "slt": lambda a, b: a < b,
    "sle": lambda a, b: a <= b,
    "sgt": lambda a, b: a > b,
    "sge": lambda a, b: a >= b,
}


def _quotient(a: int, b: int) -> Number:
    if b == 0:
        return None
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def _remainder(a: int, b: int) -> Number:
    q = _quotient(a, b)
    return None if q is None else a - b * q


_BINARY: Dict[str, Callable[[int, int], Number]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "divsi": _quotient,
    "remsi": _remainder,
    "ceildivsi": lambda a, b: -(-a // b) if b else None,
    "floordivsi": lambda a, b: a // b if b else None,
    "minsi": min,
    "maxsi": max,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "shli": lambda a, b: a << b if 0 <= b < 64 else None,
    "shrsi": lambda a, b: a >> b if 0 <= b < 64 else None,
}
_UNSIGNED = {
    "divui": "divsi",
    "remui": "remsi",
    "ceildivui": "ceildivsi",
    "minui": "minsi",
    "maxui": "maxsi",
    "shrui": "shrsi",
}


def constant(body: str) -> Number:
    found = _CONSTANT.match(body)
    if found is None:
        return None
    text = found.group(1)
    return 1 if text == "true" else 0 if text == "false" else int(text)


def width(body: str) -> int:
    """Bits of the operation's type, as printed after its operands."""
    found = _WIDTH.search(body)
    return 64 if found is None or found.group(1) == "index" else int(found.group(1)[1:])


def evaluate(name: str, body: str, args: List[Number]) -> Number:
    """The result of `arith.<name>` on scalars; None if it is not known here."""
    bits = width(body)
    if name == "select":
        condition, yes, no = (args + [None] * 3)[:3]
        return (yes if condition else no) if condition is not None else yes if yes == no else None
    if name in ("andi", "muli") and 0 in args:
        return 0
    if None in args or not args:
        return None
    known = [a for a in args if a is not None]
    if name in ("extsi", "index_cast", "bitcast"):
        return -known[0] if bits == 1 and name == "extsi" else known[0]
    if name in ("extui", "index_castui"):
        return known[0] & ((1 << bits) - 1)
    if name == "trunci":
        target = re.search(r"to i(\d+)", body)
        return _wrap(known[0], int(target.group(1)) if target else bits)
    if len(known) < 2:
        return None
    a, b = known[:2]
    if name == "cmpi":
        return _compare(body.partition(",")[0].strip(), a, b, bits)
    if name in _UNSIGNED:
        mask = (1 << bits) - 1
        a, b, name = a & mask, b & mask, _UNSIGNED[name]
    if name not in _BINARY:
        return None
    out = _BINARY[name](a, b)
    return None if out is None else _wrap(out, bits)


def _compare(predicate: str, a: int, b: int, bits: int) -> Number:
    if predicate.startswith("u"):
        mask = (1 << bits) - 1
        a, b, predicate = a & mask, b & mask, "s" + predicate[1:]
    call = _COMPARE.get(predicate)
    return None if call is None else int(call(a, b))


def _wrap(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if bits > 1 and value >> (bits - 1) else value
