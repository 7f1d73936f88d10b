"""Attention over a key and value cache, with gradients for fine-tuning on long prefixes."""

from .cache import KVCache
from .config import AttentionConfig
from .layers import CachedSelfAttention

__all__ = ["AttentionConfig", "CachedSelfAttention", "KVCache"]
