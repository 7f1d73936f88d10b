"""What is fixed for a model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tiles:
    """Rows of queries and of keys that one program works on."""

    queries: int = 32
    keys: int = 32
    num_warps: int = 4


@dataclass(frozen=True)
class AttentionConfig:
    heads: int = 8
    head_width: int = 64
    cache_length: int = 1 << 16
    causal: bool = True
    forward: Tiles = Tiles()
    backward: Tiles = Tiles(queries=32, keys=64)

    @property
    def scale(self) -> float:
        return self.head_width**-0.5

    @property
    def width(self) -> int:
        return self.heads * self.head_width
