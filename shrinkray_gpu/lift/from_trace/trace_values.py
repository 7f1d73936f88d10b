"""What stands in a trace, as values of known types within bounds.

A trace is data that anybody may have written: no text of it becomes code, but for the sources of its kernels.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping
from typing import Any

DIMENSIONS = 64
"""That a tensor of torch may have."""
LARGEST = 1 << 48
"""Bytes of a tensor, elements of a dimension: more than any device has."""
GRID = (1 << 31) - 1
TEXT = 10_000
"""Characters of a string, or of a literal, that is an argument."""
_DTYPE = re.compile(r"(?:torch\.)?(bool|(?:bfloat|complex|float|u?int)[0-9]{1,3}(?:_[a-z0-9]{1,16})?)")
_TRITON_DTYPE = re.compile(r"(fp8|fp|bf|int|uint)([0-9]{1,2}|[a-z0-9]{1,8})")
_TRITON_NAMES = {"fp8": "float8", "fp": "float", "bf": "bfloat"}
_DEVICE = re.compile(r"([a-z]{1,16})(?::[0-9]{1,3})?")


class Odd(Exception):
    """A value that no trace by tritonparse has: what it is, and what it should be."""


def odd(what: str, value: object, wanted: str) -> Odd:
    """Such an error, on one line."""
    shown = repr(value)
    return Odd(f"{what} is {shown if len(shown) <= 80 else shown[:77] + '...'}, and must be {wanted}")


def table(value: object, what: str) -> Mapping[str, Any]:
    """A JSON object; what is missing is an empty one."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise odd(what, value, "an object")
    return value


def text(value: object, what: str) -> str:
    if not isinstance(value, str) or len(value) > TEXT:
        raise odd(what, value, f"a string of {TEXT} characters at most")
    return value


def whole(value: object, what: str, least: int = 0, most: int = LARGEST) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise odd(what, value, f"a whole number from {least} to {most}")
    return value


def wholes(value: object, what: str, length: int = DIMENSIONS, most: int = LARGEST) -> list[int]:
    if not isinstance(value, list) or len(value) > length:
        raise odd(what, value, f"a list of {length} whole numbers at most")
    return [whole(one, what, most=most) for one in value]


def address(value: object, what: str) -> int:
    """From `0x7f00`; 0 where nothing is told."""
    if not value:
        return 0
    if not isinstance(value, str) or not re.fullmatch(r"0x[0-9a-fA-F]{1,16}", value):
        raise odd(what, value, "an address such as '0x7f00'")
    return int(value, 16)


def dtype(value: object, what: str) -> str:
    """The name of one of torch's element types."""
    found = _DTYPE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise odd(what, value, "an element type such as 'torch.float32'")
    return found[1]


def device(value: object, what: str) -> str:
    """`cuda` from `cuda:0`."""
    found = _DEVICE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise odd(what, value, "a device such as 'cuda:0'")
    return found[1]


def dtype_text(shown: str) -> str | None:
    """The source text of an element type, torch's or Triton's; None where it is none."""
    if shown.startswith("torch."):
        return shown if _DTYPE.fullmatch(shown) else None
    found = _TRITON_DTYPE.fullmatch(shown)
    return f"tl.{_TRITON_NAMES.get(found[1], found[1])}{found[2]}" if found else None


def finite(value: object) -> int | float | None:
    """A number of some statistics; None where it is none, or none that a tensor can hold."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not -1e300 < value < 1e300:
        return None
    return value


def scalar_text(kind: str, value: object) -> str:
    """The source text of an argument of this type."""
    if kind == "int":
        return repr(whole(value, "an int", -(1 << 63), (1 << 64) - 1))
    if kind == "bool" and isinstance(value, bool):
        return repr(value)
    if kind == "str":
        return repr(text(value, "a str"))
    if kind == "float" and isinstance(value, str) and value in ("inf", "-inf", "nan", "Infinity", "-Infinity", "NaN"):
        return _float_text(float(value))  # JSON has no infinity
    if kind == "float" and isinstance(value, float):
        return _float_text(value)
    raise odd(f"a {kind}", value, "one")


def literal_text(shown: str) -> str | None:
    """The source text of the value that this is the `repr` of, where it is a simple one: a long one is cut short in a
    trace."""
    if len(shown) > TEXT:
        return None
    try:
        return _written(ast.literal_eval(shown))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _written(value: object) -> str | None:
    if isinstance(value, (tuple, list)):
        items = [_written(one) for one in value]
        if None in items:
            return None
        inner = ", ".join(map(str, items))
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)" if len(items) == 1 else f"({inner})"
    if isinstance(value, float):
        return _float_text(value)
    return repr(value) if value is None or isinstance(value, (bool, int, str)) else None


def _float_text(value: float) -> str:
    return repr(value) if math.isfinite(value) else f'float("{value!r}")'
