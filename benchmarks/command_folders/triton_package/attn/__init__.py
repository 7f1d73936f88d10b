"""Attention for small models."""

from attn.config import AttentionConfig, default_config
from attn.registry import kernels, register

__all__ = ["AttentionConfig", "default_config", "kernels", "register"]
