"""Which launches are of one kind: the first of each is written down in full, of the others what they do not share."""

from __future__ import annotations

import math
from typing import Any, Dict, Tuple

Record = Dict[str, Any]


def kind(record: Record) -> Tuple[Any, ...]:
    """What tells one kind of launch from another: all but addresses, and of scalars only what the compiler sees."""
    storages: Dict[int, int] = {}
    arguments = tuple(_sort(argument, storages) for argument in record.get("arguments", ()))
    options = tuple((option["name"], _sort(option, storages)) for option in record.get("options", ()))
    source = tuple((name, repr(value)) for name, value in record.get("source", {}).items())
    return (id(record["kernel"]), record["how"], record["trouble"], arguments, options, source)


def _sort(argument: Record, storages: Dict[int, int]) -> Tuple[Any, ...]:
    if argument["kind"] == "value":
        value = argument["value"]
        if type(value) is int and not argument.get("constexpr"):
            return ("int", value == 1, value % 16 == 0, -(2**31) <= value < 2**31)
        return ("float",) if type(value) is float and not argument.get("constexpr") else (type(value), _word(value))
    if "items" in argument:
        return ("tuple", *(_sort(item, storages) for item in argument["items"]))
    if "base" in argument:
        rest = sorted((k, _word(v)) for k, v in argument.items() if k not in ("base", "name"))
        return (_sort({"kind": "tensor", **argument["base"]}, storages), *rest)
    if "storage" not in argument:
        return (argument["kind"],)
    number = storages.setdefault(argument["storage"], len(storages))
    sizes = (tuple(argument["shape"]), tuple(argument["strides"]), argument["offset"] % 16, argument["residue"])
    return (argument["dtype"], *sizes, argument["device"], number)


def _word(value: Any) -> Any:
    """A short word for a constant: a jit function's repr would hold its whole text in some versions."""
    return id(value) if callable(value) and not isinstance(value, type) else repr(value)


def state(record: Record) -> Record:
    """What the launches of one kind do not share, for the black box."""
    values = [
        (index, repr(argument["value"]))
        for index, argument in enumerate(record.get("arguments", ()))
        if argument["kind"] == "value" and not argument.get("constexpr") and _plain(argument["value"])
    ]
    return {"grid": record["grid"], "values": values, "tuning": record["tuning"], "raised": record["raised"]}


def _plain(value: Any) -> bool:
    return type(value) in (int, bool) or type(value) is float and math.isfinite(value)
