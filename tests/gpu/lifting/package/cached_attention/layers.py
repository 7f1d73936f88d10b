"""The layer that a model is built of."""

from __future__ import annotations

import torch
import torch.nn as nn

from .cache import KVCache
from .config import AttentionConfig
from .functional import attention


class CachedSelfAttention(nn.Module):
    """Appends its keys and values to the cache (without gradients), and attends to all that is there."""

    def __init__(self, config: AttentionConfig) -> None:
        super().__init__()
        self.config = config
        self.queries = nn.Linear(config.width, config.width, bias=False)
        self.keys = nn.Linear(config.width, config.width, bias=False)
        self.values = nn.Linear(config.width, config.width, bias=False)
        self.out = nn.Linear(config.width, config.width, bias=False)

    def split(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        return x.view(batch, length, self.config.heads, self.config.head_width).transpose(1, 2)

    def forward(self, x: torch.Tensor, cache: KVCache) -> torch.Tensor:
        with torch.no_grad():
            cache.append(self.split(self.keys(x)), self.split(self.values(x)))
        keys, values = cache.view()
        mixed = attention(self.split(self.queries(x)), keys, values, self.config)
        return self.out(mixed.transpose(1, 2).reshape(x.shape))
