"""Tensors whose memory is committed only where it is touched, so that a 16 GB buffer costs nothing."""

from __future__ import annotations

import mmap
from typing import Any, Sequence

import torch

LIMIT = 1 << 21
"""Elements above which an operation is not computed: its shape is, its values count as unknown."""

_SMALL = 1 << 20


def zeros(size: Sequence[int], stride: Sequence[int], dtype: Any) -> Any:
    """Deterministic stand-in for `empty`: what it holds is the same in every run."""
    count = 1 + sum((n - 1) * s for n, s in zip(size, stride)) if all(size) else 0
    bytes_ = count * torch.empty(0, dtype=dtype).element_size()
    if bytes_ < _SMALL:
        return torch.zeros(count, dtype=dtype).as_strided(size, stride)
    return torch.frombuffer(mmap.mmap(-1, bytes_), dtype=dtype, count=count).as_strided(size, stride)
