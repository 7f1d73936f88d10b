"""Knobs that turn one argument of a launch, by its parameter's name:

    usual-type=NAME         a tensor has elements of float32 or int32
    other-type=NAME         one of float32 has the floating type of another tensor of the launch, or float16; one of
                            int32 has int64
    other-constant=NAME     a constant is another: a switch the other way, a number half as large
    usual-constant=NAME     a constant that is no power of two is the next smaller one, and at least 16

A constant that the launch does not pass has the default of its parameter.

    other-numbers=A,B,...   of a launch that is refused these constants are other ones, one after another, until it
                            compiles, or is refused in other words

The types go one way by either knob, so that launches before the one at fault stay as they were. What a kernel would
have written to a tensor of another type is lost: it is a copy.
"""

from __future__ import annotations

import inspect
import sys
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

USUAL_TYPE, OTHER_TYPE = "usual-type", "other-type"
OTHER_CONSTANT, USUAL_CONSTANT = "other-constant", "usual-constant"
OTHER_NUMBERS = "other-numbers"
ARGUMENTS = (USUAL_TYPE, OTHER_TYPE, OTHER_CONSTANT, USUAL_CONSTANT)
SOUND = 16
"""A tile that is refused nowhere."""
MOST = 60
"""Numbers that are tried in the place of others."""


def turned(
    kernel: Any, args: Tuple[Any, ...], kwargs: Mapping[str, Any], knobs: Mapping[str, str]
) -> Tuple[Tuple[Any, ...], Dict[str, Any], Tuple[str, ...]]:
    """The arguments of a kernel's launch with these knobs turned, and which of them found something."""
    names: Sequence[str] = getattr(kernel, "arg_names", ())
    given, found = {**dict(zip(names, args)), **kwargs}, []
    changed: Dict[str, Any] = {}
    for knob in ARGUMENTS:
        name = knobs.get(knob, "")
        if name not in names:
            continue
        if knob in (OTHER_CONSTANT, USUAL_CONSTANT):
            value = given.get(name, _default(kernel, name))
            other = _other_constant(value) if knob == OTHER_CONSTANT else _usual_constant(value)
        else:
            value = given.get(name)
            other = _of_type(knob, value, given.values())
        if other is not value:
            changed[name] = other
            found.append(knob)
    placed = tuple(changed.get(name, value) for name, value in zip(names, args)) + args[len(names) :]
    by_name = {name: value for name, value in changed.items() if name not in names[: len(args)]}
    return placed, {**kwargs, **by_name}, tuple(found)


def otherwise(
    kernel: Any, args: Tuple[Any, ...], kwargs: Mapping[str, Any], wanted: Sequence[str]
) -> Optional[List[Tuple[Tuple[Any, ...], Dict[str, Any]]]]:
    """The arguments of a kernel's launch with another value for one of the constants of these names, in each way: half
    as large, or the power of two below it, a switch the other way, or what another of them is, so that two that must
    agree do. None where one is neither a number nor a switch: nobody knows what else that may be."""
    names: Sequence[str] = getattr(kernel, "arg_names", ())
    given = {**dict(zip(names, args)), **kwargs}
    values = {name: given.get(name, _default(kernel, name)) for name in wanted if name in names}
    if len(values) < len(wanted) or any(type(value) not in (int, bool) for value in values.values()):
        return None
    changes = []
    for name, value in values.items():
        other = _other_constant(value) if _usual_constant(value) is value else _usual_constant(value)
        changes.append((name, value + 1 if other is value else other))
    numbers = {name: value for name, value in values.items() if type(value) is int}
    changes += [(name, other) for name, value in numbers.items() for other in {*numbers.values()} - {value}]
    found = []
    for name, other in list(dict.fromkeys(changes))[:MOST]:
        placed = tuple(other if each == name else value for each, value in zip(names, args)) + args[len(names) :]
        found.append((placed, {**kwargs, **({} if name in names[: len(args)] else {name: other})}))
    return found


def _default(kernel: Any, name: str) -> Any:
    """That of a parameter; None where it has none, or is none of a constant."""
    found = inspect.signature(kernel.fn).parameters.get(name) if callable(getattr(kernel, "fn", None)) else None
    told = found is not None and "constexpr" in str(found.annotation)
    return found.default if found is not None and told and found.default is not found.empty else None


def _of_type(knob: str, value: Any, beside: Iterable[Any]) -> Any:
    torch: Any = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        return value
    tensors = (each for each in beside if isinstance(each, torch.Tensor) and each.dtype.is_floating_point)
    others = (each.dtype for each in tensors if each.dtype != torch.float32)
    usual = torch.float32 if value.dtype.is_floating_point else torch.int32 if value.dtype == torch.int64 else None
    other = {torch.float32: next(others, torch.float16), torch.int32: torch.int64}.get(value.dtype)
    wanted = usual if knob == USUAL_TYPE else other
    return value if wanted in (None, value.dtype) else value.to(wanted)


def _other_constant(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    return value // 2 if isinstance(value, int) and value > 1 else value


def _usual_constant(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1 or value & (value - 1) == 0:
        return value
    return max(SOUND, 1 << (value.bit_length() - 1))
