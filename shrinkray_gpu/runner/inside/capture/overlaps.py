"""Tensors that share memory without sharing a storage: by DLPack, `from_blob`, or another framework's view of a buffer.

torch knows two storages then, and each would get memory of its own in a lifted script. By their addresses they are one.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Iterable, List, Tuple

Record = Dict[str, Any]

_BITS = re.compile(r"\d+")


def merge_storages(arguments: List[Record]) -> Tuple[List[Record], bool]:
    """The arguments of a launch with overlapping storages as one, and whether there were any."""
    spans = sorted({(t["address"], t["address"] + t["bytes"]) for t in tensors(arguments) if t.get("address")})
    groups: List[List[int]] = []
    for begin, end in spans:
        if groups and begin < groups[-1][1]:
            groups[-1] = [groups[-1][0], max(end, groups[-1][1]), groups[-1][2] + 1]
        else:
            groups.append([begin, end, 1])
    shared = [(begin, end) for begin, end, count in groups if count > 1]
    if not shared:
        return arguments, False
    return [_moved(argument, shared) for argument in arguments], True


def tensors(arguments: Iterable[Record]) -> Iterable[Record]:
    """Those among the arguments of a launch, in tuples and behind descriptors, too."""
    for argument in arguments:
        if "storage" in argument:
            yield argument
        if "base" in argument:
            yield argument["base"]
        yield from tensors(argument.get("items", ()))


def _moved(argument: Record, shared: List[Tuple[int, int]]) -> Record:
    out = dict(argument)
    if "items" in out:
        out["items"] = [_moved(item, shared) for item in out["items"]]
    if "base" in out:
        out["base"] = _moved(out["base"], shared)
    for begin, end in shared:
        if "storage" in out and begin <= out.get("address", 0) < end:
            before, size = out["address"] - begin, _itemsize(out["dtype"])
            if before % size == 0:  # else no view of that type begins there
                out.update(storage=begin, offset=out["offset"] + before // size, bytes=end - begin, residue=begin % 16)
    return out


def _itemsize(dtype: str) -> int:
    bits = _BITS.search(dtype)
    return max(1, int(bits.group()) // 8) if bits else 1
