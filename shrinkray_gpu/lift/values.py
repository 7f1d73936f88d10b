"""What the tensors of a lifted launch hold, and the shortest expression that makes a new tensor of it.

Where nobody looked, a few guesses in the order of simplicity. Where the run was captured with its values, first the
simplest content that agrees with them, then the values: small ones in the script, large ones in a file.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Content = Mapping[str, Any]
Choice = Callable[[Mapping[str, Any]], Content]

ZEROS: Content = {"kind": "zeros"}
RANDOM = ("normal", "range", "bool")
UNIFORM = ("zeros", "ones", "full", *RANDOM)
"""Contents for which it does not matter in which order the elements lie."""

_NEVER_DIRECT = ("float8", "float4", "uint16", "uint32", "uint64")
"""Types that torch converts to, but makes few tensors of."""
_DEFAULTS = {"zeros": "float32", "ones": "float32", "normal": "float32", "arange": "int64", "range": "int64"}
_BITS = re.compile(r"\d+")


def choices(tensors: Sequence[Mapping[str, Any]]) -> list[Choice]:
    """How to fill these tensors, the simplest and likeliest way first. Few: each may cost a process of its own."""
    if any("content" in tensor for tensor in tensors):
        found: list[Choice] = [_simplest]
        if any(_is_whole(tensor["dtype"]) and _exact(tensor) != _simplest(tensor) for tensor in tensors):
            found.append(lambda tensor: _exact(tensor) if _is_whole(tensor["dtype"]) else _simplest(tensor))
        if any(not _is_whole(tensor["dtype"]) and _exact(tensor) != _simplest(tensor) for tensor in tensors):
            found.append(_exact)
        return found
    normal: Content = {"kind": "normal", "mean": 0.0, "std": 1.0}
    found = [lambda tensor: ZEROS]
    if all(not _is_whole(tensor["dtype"]) for tensor in tensors):
        return [*found, lambda tensor: normal]
    # An integer may be an index, a length or a flag: ones let a loop run, and all of them distinct reach all places.
    return [*found, _guess({"kind": "ones"}, normal), _guess({"kind": "arange", "start": 0, "step": 1}, normal)]


def new(shape: Sequence[int], dtype: str, device: str, content: Content) -> str:
    """An expression for a new contiguous tensor, of a kind that takes an index or an attribute after it."""
    made = _made(shape, dtype, device, content)
    return f"({made})" if isinstance(ast.parse(made, mode="eval").body, (ast.BinOp, ast.Compare)) else made


def comment(content: Content) -> str:
    """What to say of it beside its line."""
    if content["kind"] == "file":
        return f"  # as recorded, {content['bytes']:,} bytes"
    odd = [name for name, key in (("NaN", "nan"), ("infinities", "inf")) if content.get(key)]
    return f"  # {' and '.join(odd)} in it when recorded" if odd else ""


def itemsize(dtype: str) -> int:
    """Bytes of an element, from its type's name: `bfloat16`, `float8_e4m3fn`, `complex64`, `bool`."""
    bits = _BITS.search(dtype)
    return max(1, int(bits[0]) // 8) if bits else 1


def tuple_text(values: Sequence[int]) -> str:
    return f"({', '.join(map(str, values))}{',' if len(values) == 1 else ''})"


def _is_whole(dtype: str) -> bool:
    return dtype.startswith(("int", "uint", "bool"))


def _simplest(tensor: Mapping[str, Any]) -> Content:
    content = tensor.get("content", ZEROS)
    exact = content.get("exact")
    if content["kind"] in ("unknown", "other"):
        return ZEROS
    if exact and exact["kind"] == "list" and _is_whole(tensor["dtype"]):
        return dict(exact)  # a few integers are shorter than a range with its seed, and right
    return dict(content)


def _exact(tensor: Mapping[str, Any]) -> Content:
    return tensor.get("content", ZEROS).get("exact") or _simplest(tensor)


def _guess(whole: Content, floats: Content) -> Choice:
    return lambda tensor: _fitting(whole, tensor) if _is_whole(tensor["dtype"]) else floats


def _fitting(content: Content, tensor: Mapping[str, Any]) -> Content:
    """`arange` where the type can count so far, else ones."""
    dtype = tensor["dtype"]
    if content["kind"] == "arange" and (dtype == "bool" or math.prod(tensor["shape"]) > 1 << 8 * itemsize(dtype) - 1):
        return {"kind": "ones"}
    return content


def _made(shape: Sequence[int], dtype: str, device: str, content: Content) -> str:
    kind = content["kind"]
    on = f'device="{device}"'
    if kind == "file":
        load = f"torch.load({json.dumps(content['path'])}, weights_only=True)"
        return load if device == "cpu" else f"{load}.cuda()" if device == "cuda" else f'{load}.to("{device}")'
    if kind == "list":
        usual = {bool: "bool", int: "int64", float: "float32"}[type(_first(content["values"]))]
        typed = [] if usual == dtype else [f"dtype=torch.{dtype}"]
        return f"torch.tensor({', '.join([_literal(content['values']), *typed, on])})"
    if kind == "bool":
        return f"torch.rand({_sizes(shape)}, {on}) < {_rounded(content['share'])}"
    direct = not dtype.startswith(_NEVER_DIRECT) or kind == "zeros"
    usual = _DEFAULTS.get(kind, "")
    if kind == "full":
        usual = {bool: "bool", int: "int64", float: "float32"}[type(content["value"])]
    if dtype == "bool" and kind in RANDOM:
        direct = False
    typed = [f"dtype=torch.{dtype}"] if direct and dtype != usual else []
    words = [*_words(kind, shape, content), *typed, on]
    name = {"normal": "randn", "range": "randint"}.get(kind, kind)
    scale = ""
    if kind == "normal":
        name, scale = _scaled(content)
    text = f"torch.{name}({', '.join(words)})"
    if kind == "arange" and len(shape) != 1:
        text += f".view({_sizes(shape)})"
    if not direct:
        text = f"({text}{scale})" if scale else text
        return f"{text}.to(torch.{dtype})"
    return text + scale


def _words(kind: str, shape: Sequence[int], content: Content) -> list[str]:
    if kind == "full":
        return [tuple_text(shape), _literal(content["value"])]
    if kind == "arange":
        start, step = content["start"], content["step"]
        end = start + step * math.prod(shape)
        return [str(end)] if (start, step) == (0, 1) else [str(start), str(end)] + ([str(step)] if step != 1 else [])
    if kind == "range":
        return [str(content["low"]), str(min(content["high"] + 1, 2**63 - 1)), tuple_text(shape)]
    return [_sizes(shape)]


def _scaled(content: Content) -> tuple[str, str]:
    """The function and what its result is multiplied and shifted by. Values that are never negative stay so."""
    mean, std = content["mean"], content["std"]
    if content.get("low", -1) >= 0 and mean < 3 * std:
        high = content["high"]
        return "rand", "" if 0.5 <= high <= 1 else f" * {_rounded(high)}"
    scale = "" if 0.5 <= std <= 2 else f" * {_rounded(std)}"
    shift = "" if abs(mean) <= std / 2 else f" {'+' if mean > 0 else '-'} {_rounded(abs(mean))}"
    return "randn", scale + shift


def _rounded(value: float) -> str:
    return repr(float(f"{value:.2g}")).removesuffix(".0")


def _sizes(shape: Sequence[int]) -> str:
    return ", ".join(map(str, shape)) if shape else "()"


def _first(values: Any) -> Any:
    while isinstance(values, (list, tuple)):
        values = values[0]
    return values


def _literal(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value!r}")'
    return repr(value)
