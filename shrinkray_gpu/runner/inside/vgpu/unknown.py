"""What is said of values that nobody knows, because the kernel that would have written them never ran.

A check of a good configuration stands before the bad one in many scripts; it must not stop them. So every comparison
of an unknown value comes out as in a program whose kernels are right: near is true, different and NaN are false, an
error is 0. Shape, dtype and device are known all the same, and are checked.
"""

from __future__ import annotations

from typing import Any, Dict, Sequence

import torch

# Comparison -> what a passing check would see.
ANSWERS: Dict[str, bool] = {
    **dict.fromkeys(("eq", "le", "lt", "isclose", "isfinite", "equal", "allclose", "all", "logical_not"), True),
    **dict.fromkeys(("ne", "gt", "ge", "isnan", "isinf", "isposinf", "isneginf", "any"), False),
}


def answer(name: str, func: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
    """The comparison's own result, overwritten by the good answer. It may still raise on shapes."""
    out = func(*args, **kwargs)
    if name == "equal":
        return args[0].shape == args[1].shape
    if isinstance(out, bool):
        return ANSWERS[name]
    if isinstance(out, torch.Tensor) and out.dtype == torch.bool:
        out.fill_(ANSWERS[name])
    return out


def number(tensor: Any, value: Any) -> Any:
    """`.item()` of an unknown tensor: a measured error of 0; integers and booleans stay as they lie in memory."""
    return 0.0 if tensor.is_floating_point() else value
