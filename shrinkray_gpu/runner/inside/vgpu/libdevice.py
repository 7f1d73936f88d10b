"""libdevice in Triton's interpreter, which has none of its functions: torch's own, on the CPU, take their place.

They differ from NVIDIA's in the last bits. A function that is not here is as it was, and a kernel that calls it is not
run.
"""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any, Callable, Dict, Optional

import torch

MODULES = tuple("triton.language.extra%s.libdevice" % where for where in ("", ".cuda", ".hip"))
_ALIKE = (
    "acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh erf erfc erfinv exp exp2 expm1 floor fmod hypot "
    "lgamma log log10 log1p log2 nextafter pow rsqrt sin sinh sqrt tan tanh trunc"
).split()
"""Of one name in libdevice and in torch."""
_OTHERWISE: Dict[str, Callable[..., Any]] = {
    "abs": torch.abs,
    "rint": torch.round,  # to even, both
    "nearbyint": torch.round,
    "fast_expf": torch.exp,
    "fast_logf": torch.log,
    "fast_powf": torch.pow,
    "fast_sinf": torch.sin,
    "fast_cosf": torch.cos,
    "fast_tanf": torch.tan,
    "fast_tanhf": torch.tanh,
    "fast_dividef": torch.div,
    "div_rn": torch.div,
    "fdim": lambda x, y: torch.clamp(x - y, min=0),
    "fma": lambda x, y, z: x * y + z,
}
FUNCTIONS = {**{name: getattr(torch, name) for name in _ALIKE}, **_OTHERWISE}


def stand_in(function: Any) -> Optional[Callable[..., Any]]:
    """For a function of libdevice, by its module and name; None for any other, and for one that has none."""
    known = isinstance(function, FunctionType) and function.__module__ in MODULES
    computing = FUNCTIONS.get(function.__name__) if known else None
    if computing is None:
        return None

    def call(*args: Any, **_: Any) -> Any:
        return _computed(computing, args)

    return call


def replace() -> None:
    """Put stand-ins into the modules of libdevice that are imported. Only for a process that compiles no more."""
    for module in filter(None, map(sys.modules.get, MODULES)):
        for name, value in list(vars(module).items()):
            other = stand_in(value)
            if other is not None:
                setattr(module, name, other)


def _computed(function: Callable[..., Any], args: Any) -> Any:
    """What it makes of tensors of the interpreter, of 32 or 64 bits. Raises TypeError for others."""
    language: Any = sys.modules["triton.language"]
    handle: Any = sys.modules["triton.runtime.interpreter"].TensorHandle
    given = [each for each in args if isinstance(each, language.tensor)]
    dtype = given[0].dtype if given else None
    if dtype not in (language.float32, language.float64) or any(each.dtype != dtype for each in given):
        raise TypeError("libdevice takes tensors of float32, or of float64")
    kind = torch.float32 if dtype == language.float32 else torch.float64

    def value(each: Any) -> Any:
        own = isinstance(each, language.tensor)
        return torch.from_numpy(each.handle.data) if own else torch.tensor(float(each), dtype=kind)

    made = function(*map(value, args)).numpy()
    whole = next(each for each in given if each.handle.data.shape == made.shape)
    return language.tensor(handle(made, dtype), whole.type)
