"""What a check lets pass: the `rtol` and `atol` of the functions by which torch and NumPy hold tensors together."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, Tuple

TORCH = ("isclose", "allclose")
"""Of torch and of its tensors; torch.testing comes to these."""
NUMPY = ("allclose", "isclose")
DEFAULTS = {"rtol": 1e-5, "atol": 1e-8}
"""Of those of torch, whose signature Python does not know."""
PLACES = ("self", "other", "rtol", "atol")
DECIMALS = 1.5
"""NumPy's `decimal` lets pass less than this, times 10 to the power of -decimal."""
Tolerance = Tuple[float, ...]
"""`rtol` and `atol`; empty: nothing is known of it."""


def sides_of(function: Callable[..., Any]) -> Tuple[str, ...]:
    """The names of its first two arguments, which are held against each other."""
    try:
        return tuple(inspect.signature(function).parameters)[:2]
    except (TypeError, ValueError):
        return ()


def of_torch(args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Tolerance:
    given = {**DEFAULTS, **dict(zip(PLACES, args)), **kwargs}
    return _read(given)


def of_numpy(function: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Tolerance:
    """Of a function that has `rtol` and `atol`, or `decimal`, or nothing of the kind."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return ()
    bound.apply_defaults()
    given = bound.arguments
    if isinstance(given.get("decimal"), (int, float)):
        return (0.0, DECIMALS * 10.0 ** -given["decimal"])
    return _read(given)


def _read(given: Dict[str, Any]) -> Tolerance:
    try:
        return (float(given["rtol"]), float(given["atol"]))
    except (KeyError, TypeError, ValueError, OverflowError):
        return ()
