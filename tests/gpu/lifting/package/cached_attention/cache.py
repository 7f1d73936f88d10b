"""Keys and values of all positions so far, in one allocation each that never moves."""

from __future__ import annotations

import torch

from .config import AttentionConfig


class KVCache:
    """[batch, heads, cache_length, head_width]; `view` gives the part in use, without a copy."""

    def __init__(self, config: AttentionConfig, batch: int, device: str, dtype: torch.dtype) -> None:
        size = (batch, config.heads, config.cache_length, config.head_width)
        self.keys = torch.zeros(size, device=device, dtype=dtype)
        self.values = torch.zeros(size, device=device, dtype=dtype)
        self.used = 0

    def append(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        end = self.used + keys.shape[2]
        if end > self.keys.shape[2]:
            raise ValueError(f"{end} positions in a cache of {self.keys.shape[2]}")
        self.keys[:, :, self.used : end] = keys
        self.values[:, :, self.used : end] = values
        self.used = end

    def view(self) -> tuple[torch.Tensor, torch.Tensor]:
        return self.keys[:, :, : self.used], self.values[:, :, : self.used]
