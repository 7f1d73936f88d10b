"""A launch of CUDA C++ in words: pointers as tensors and offsets in them, all else as its bytes.

`lift.as_cu` and `lift.as_kernel` make programs of it. Standard library only.
"""

from __future__ import annotations

import ctypes
from typing import Any, Dict, Iterable, List, Optional

SIZES = {
    "bool": 1, "char": 1, "signed char": 1, "unsigned char": 1, "short": 2, "unsigned short": 2, "int": 4,
    "unsigned int": 4, "long": 8, "unsigned long": 8, "long long": 8, "unsigned long long": 8, "float": 4, "double": 8,
    "__half": 2, "__nv_bfloat16": 2,
}  # fmt: skip
"""Bytes of what kernels take by value."""
SMALL = 256
"""Bytes of a tensor whose values are written down one by one."""
POINTER = 8

TensorWords = Dict[str, Any]


def argument(kind: str, data: bytes, tensors: Iterable[Any]) -> TensorWords:
    """One argument of the type `kind`, whose bytes these are. A number of a known type has `bytes`, any other value
    `raw`, with the pointers in it by their place. No byte known: no more than its type."""
    if kind.endswith("*"):
        value = int.from_bytes(data, "little")
        return pointer(kind, value, tensors) or dict(_NOWHERE, type=kind)
    size = SIZES.get(kind, 0)
    if size or not data:
        return {"type": kind, "bytes": data[:size].hex()}
    inside: Dict[str, TensorWords] = {}
    kept: List[Any] = list(tensors)
    for at in range(0, len(data) - POINTER + 1, POINTER):
        found = pointer("void*", int.from_bytes(data[at : at + POINTER], "little"), kept)
        if found is not None:
            inside[str(at)] = found
    return {"type": kind, "bytes": "", "raw": data.hex(), "pointers": inside}


_NOWHERE: TensorWords = {"tensor": 0, "size": 0, "offset": 0, "content": "", "whole": True}


def pointer(kind: str, value: int, tensors: Iterable[Any]) -> Optional[TensorWords]:
    """Where it points to, if that is in one of these: the storage, and the tensor as a capture describes it (`seen`)
    with the bytes from its first element on (`into`). Of the storage's bytes none where all are zero, one element
    where all are alike, else the first ones."""
    for tensor in tensors:
        storage = tensor.untyped_storage()
        base, size = int(storage.data_ptr()), int(storage.nbytes())
        if base and base <= value <= base + size:
            content = ctypes.string_at(base, size).rstrip(b"\0") and ctypes.string_at(base, size)
            item = int(tensor.element_size())
            if content == content[:item] * (len(content) // item):
                content = content[:item]
            about = {"type": kind, "tensor": base, "size": size, "offset": value - base}
            about.update(content=content[:SMALL].hex(), whole=len(content) <= SMALL)
            return dict(about, seen=_described(tensor), into=value - int(tensor.data_ptr()))
    return None


def _described(tensor: Any) -> TensorWords:
    from ..capture import contents, description

    about = description.tensor(tensor)
    # On a GPU an allocation starts at a multiple of 512, wherever this one lies in the host's memory.
    about.update(device="cuda", residue=0)
    contents.Contents("").note(tensor, about)
    return about
