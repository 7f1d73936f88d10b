"""A word on what a tensor holds, so that two launches on different data are told apart."""

from __future__ import annotations

import hashlib
from typing import Any, List

import torch
from torch.utils._pytree import tree_map

from ..capture.contents import sample
from .claims import Claims

UNKNOWN = "#?"
EXACT = 1 << 16  # elements hashed whole; of larger tensors a fixed sample


def word(claims: Claims, tensor: Any) -> str:
    """`#1a2b3c4d`; of values that were not computed `#~1a2b3c4d`, by how they come about, or `#?` where nobody knows,
    since equal memory then says nothing."""
    if claims.unknown(tensor):
        origin = claims.origin(tensor)
        return "#~" + origin if origin else UNKNOWN
    with torch.no_grad(), torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
        data = sample(tensor.detach(), EXACT).reshape(-1).contiguous().view(torch.uint8).numpy().tobytes()
    return "#" + hashlib.sha256(data).hexdigest()[:8]


def origin(claims: Claims, func: Any, args: Any, kwargs: Any) -> str:
    """A word on what this operation makes of these arguments; empty where one of them holds what nobody knows. Random
    numbers hang on the state of their generator, which moves on with each call."""
    words: List[str] = []

    def said(x: Any) -> Any:
        if isinstance(x, torch.Generator):
            return "a generator"
        if not isinstance(x, torch.Tensor):
            return x
        words.append(word(claims, x) if x.device.type == "cpu" else UNKNOWN)
        return (words[-1], str(x.dtype), tuple(x.shape), tuple(x.stride()), x.storage_offset())

    text = "%s %r %r" % (func, tree_map(said, tuple(args)), sorted(tree_map(said, dict(kwargs)).items()))
    if UNKNOWN in words:
        return ""
    digest = hashlib.sha256(text.encode())
    if torch.Tag.nondeterministic_seeded in func.tags:
        generator = kwargs.get("generator") or torch.default_generator
        digest.update(generator.get_state().numpy().tobytes())
        torch.rand(1, generator=generator)
    return digest.hexdigest()[:8]
