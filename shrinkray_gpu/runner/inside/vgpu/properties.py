"""What a GPU of each compute capability answers about itself, as far as kernels, launchers and heuristics ask.

Limits per capability are those of NVIDIA's programming guide; names and counts are of the common data-centre card.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Card:
    name: str
    processors: int
    memory: int
    shared: int  # bytes a block may opt in to
    threads: int = 2048  # per multiprocessor
    l2: int = 50 << 20


_CARDS = {
    70: Card("Tesla V100-SXM2-32GB", 80, 32 << 30, 98304, 2048, 6 << 20),
    75: Card("Tesla T4", 40, 16 << 30, 65536, 1024, 4 << 20),
    80: Card("NVIDIA A100-SXM4-80GB", 108, 80 << 30, 166912, 2048, 40 << 20),
    86: Card("NVIDIA A10", 72, 24 << 30, 101376, 1536, 6 << 20),
    87: Card("Orin", 16, 32 << 30, 166912, 1536, 4 << 20),
    89: Card("NVIDIA L40S", 142, 48 << 30, 101376, 1536, 96 << 20),
    90: Card("NVIDIA H100 80GB HBM3", 132, 80 << 30, 232448, 2048, 50 << 20),
    100: Card("NVIDIA B200", 148, 180 << 30, 232448, 2048, 126 << 20),
    103: Card("NVIDIA B300", 148, 270 << 30, 232448, 2048, 126 << 20),
    120: Card("NVIDIA GeForce RTX 5090", 170, 32 << 30, 101376, 1536, 96 << 20),
    121: Card("NVIDIA GB10", 48, 128 << 30, 101376, 1536, 24 << 20),
}


def card(arch: int) -> Card:
    """The card of this capability, or of the nearest older one."""
    return _CARDS[max((known for known in _CARDS if known <= arch), default=70)]
