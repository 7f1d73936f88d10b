"""The layer against torch's own attention, forward and backward."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from cached_attention import AttentionConfig, CachedSelfAttention, KVCache

BATCH, LENGTH = 4, 96


@pytest.fixture
def config() -> AttentionConfig:
    return AttentionConfig()


@pytest.fixture
def layer(config: AttentionConfig) -> CachedSelfAttention:
    torch.manual_seed(0)
    return CachedSelfAttention(config).to("cuda", torch.float16)


@pytest.fixture
def x(config: AttentionConfig) -> torch.Tensor:
    return torch.randn(BATCH, LENGTH, config.width, device="cuda", dtype=torch.float16, requires_grad=True)


def reference(layer: CachedSelfAttention, x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        keys, values = layer.split(layer.keys(x)), layer.split(layer.values(x))
    mixed = F.scaled_dot_product_attention(layer.split(layer.queries(x)), keys, values, is_causal=True)
    return layer.out(mixed.transpose(1, 2).reshape(x.shape))


def cache_of(config: AttentionConfig) -> KVCache:
    return KVCache(config, BATCH, "cuda", torch.float16)


def test_forward(layer: CachedSelfAttention, config: AttentionConfig, x: torch.Tensor) -> None:
    torch.testing.assert_close(layer(x, cache_of(config)), reference(layer, x), rtol=1e-2, atol=1e-2)


def test_backward(layer: CachedSelfAttention, config: AttentionConfig, x: torch.Tensor) -> None:
    weight = torch.randn_like(x)
    (expected,) = torch.autograd.grad((reference(layer, x) * weight).sum(), x)
    (found,) = torch.autograd.grad((layer(x, cache_of(config)) * weight).sum(), x)
    torch.testing.assert_close(found, expected, rtol=2e-2, atol=2e-2)
