"""A word on what a tensor holds, so that two launches on different data are told apart."""

from __future__ import annotations

import hashlib
from typing import Any

import torch

from .claims import Claims

EXACT = 1 << 16  # elements hashed whole; of larger tensors a fixed sample


def word(claims: Claims, tensor: Any) -> str:
    """`#1a2b3c4d`; `#?` where nobody knows, since equal memory then says nothing."""
    if claims.unknown(tensor):
        return "#?"
    with torch.no_grad(), torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
        flat = torch.as_strided(tensor.detach(), *_sample(tensor))
        data = flat.reshape(-1).contiguous().view(torch.uint8).numpy().tobytes()
    return "#" + hashlib.sha256(data).hexdigest()[:8]


def _sample(tensor: Any) -> Any:
    """Size, stride and offset of the part that is hashed: for a large tensor, indices spread over each dimension."""
    size, stride = list(tensor.shape), list(tensor.stride())
    while size and _count(size) > EXACT:
        largest = max(range(len(size)), key=lambda i: size[i])
        step = 7 if size[largest] >= 14 else 2  # odd, so that a period of a power of two does not hide
        size[largest] //= step
        stride[largest] *= step
    return size, stride, tensor.storage_offset()


def _count(size: Any) -> int:
    count = 1
    for n in size:
        count *= n
    return count
