"""A mixture of experts: gating, dispatch to the experts and back."""

from .config import MoEConfig
from .layer import MoELayer

__all__ = ["MoEConfig", "MoELayer"]
