"""What a GPU of each architecture answers about itself, as far as kernels, launchers and heuristics ask.

Limits are those of NVIDIA's programming guide and of AMD's hardware tables; names and counts are of the common
data-centre card, or of the largest card of a series for desktops.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..gpu_target import FIRST_OF_AMD


@dataclass(frozen=True)
class Card:
    name: str
    processors: int
    memory: int
    shared: int  # bytes a block may opt in to
    threads: int = 2048  # per multiprocessor
    l2: int = 50 << 20
    features: str = ""  # behind the name of the architecture, as ROCm writes it


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
    0x906: Card("AMD Instinct MI50", 60, 32 << 30, 65536, 2560, 4 << 20, ":sramecc+:xnack-"),
    0x908: Card("AMD Instinct MI100", 120, 32 << 30, 65536, 2560, 8 << 20, ":sramecc+:xnack-"),
    0x90A: Card("AMD Instinct MI250X", 110, 64 << 30, 65536, 2048, 8 << 20, ":sramecc+:xnack-"),
    0x940: Card("AMD Instinct MI300X", 304, 192 << 30, 65536, 2048, 4 << 20, ":sramecc+:xnack-"),
    0x950: Card("AMD Instinct MI355X", 256, 288 << 30, 163840, 2048, 4 << 20, ":sramecc+:xnack-"),
    0x1010: Card("AMD Radeon RX 5700 XT", 20, 8 << 30, 65536, 2048, 4 << 20, ":xnack-"),
    0x1030: Card("AMD Radeon RX 6900 XT", 40, 16 << 30, 65536, 2048, 4 << 20),
    0x1100: Card("AMD Radeon RX 7900 XTX", 48, 24 << 30, 65536, 2048, 6 << 20),
    0x1150: Card("AMD Radeon 890M Graphics", 8, 16 << 30, 65536, 2048, 2 << 20),
    0x1200: Card("AMD Radeon RX 9070 XT", 32, 16 << 30, 65536, 2048, 8 << 20),
    0x1250: Card("AMD Instinct MI450", 256, 432 << 30, 327680, 2048, 4 << 20),
}


def card(arch: int) -> Card:
    """The card of this architecture, or of the vendor's nearest older one."""
    mine = [known for known in _CARDS if (known < FIRST_OF_AMD) == (arch < FIRST_OF_AMD)]
    return _CARDS[max((known for known in mine if known <= arch), default=min(mine))]
