"""What the types at the end of an operation say: the extents of a block, and the width of its elements."""

from __future__ import annotations

import functools
import re
from typing import Optional, Tuple

from ..static.ttgir import bits

_TENSOR = re.compile(r"tensor<((?:\d+x)*)(!tt\.ptr<)?([a-zA-Z]\w*)")
_POINTER = re.compile(r"(?:!tt\.ptr)?<([a-z]\w*)")
_ELEMENT = re.compile(r"!tt\.ptr<([a-z]\w*)>")
_BLOCK = re.compile(r"<(?:tensor<(?:\d+x)*|(?:\d+x)+)([a-z]\w*)")
_RESULTS = re.compile(r"-> (\(.*\)|[^ ]+)")
_SCALAR = re.compile(r"\b(index|i\d+)\b")


@functools.lru_cache(maxsize=None)
def extents(types: str) -> Tuple[int, ...]:
    """Those of the last tensor named; of a scalar, none."""
    found = _TENSOR.findall(types)
    return tuple(int(n) for n in found[-1][0].split("x") if n) if found else ()


@functools.lru_cache(maxsize=None)
def signature(body: str) -> str:
    """The types that stand behind an operation."""
    return body.rpartition(" : ")[2]


@functools.lru_cache(maxsize=None)
def integer_bits(types: str) -> int:
    """Bits of the last integer type named (64 for `index`); 0 where the last element type is none."""
    found = _TENSOR.findall(types)
    if found:
        kind = "" if found[-1][1] else found[-1][2]
    else:
        scalars = _SCALAR.findall(types)
        kind = scalars[-1] if scalars else ""
    if kind == "index":
        return 64
    return int(kind[1:]) if re.fullmatch(r"i\d+", kind) else 0


@functools.lru_cache(maxsize=None)
def source_bits(types: str) -> int:
    """Of a cast `i32 to i64`, bits of what it is from."""
    return integer_bits(types.partition(" to ")[0])


@functools.lru_cache(maxsize=None)
def pointee(types: str) -> Optional[Tuple[str, int]]:
    """Name and bytes of what the first pointer among these types points to."""
    for found in _ELEMENT.finditer(types):
        return found.group(1), max(1, bits(found.group(1)) // 8)
    found_block = _BLOCK.search(types) or _POINTER.search(types)
    if found_block:
        return found_block.group(1), max(1, bits(found_block.group(1)) // 8)
    return None


@functools.lru_cache(maxsize=None)
def ranks(types: str) -> Tuple[int, ...]:
    """Of each type in a list, the dimensions of its block; 0 for scalars."""
    out, depth, start = [], 0, 0
    text = types.strip()
    for at, char in enumerate(text + ","):
        depth += (char in "<([") - (char in ")]" or char == ">" and text[at - 1] != "-")
        if char == "," and depth <= 0:
            out.append(len(extents(text[start:at])))
            start = at + 1
    return tuple(out)


@functools.lru_cache(maxsize=None)
def result_ranks(body: str) -> Tuple[int, ...]:
    """The same of what an operation with regions hands on: `... -> (i32, tensor<4xi32>)  : i32 {`."""
    found = _RESULTS.search(body)
    if found is None:
        return ()
    text = found.group(1)
    return ranks(text[1:-1] if text.startswith("(") else text)
