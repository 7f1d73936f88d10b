"""The static rule `static:tma-alignment`: does this launch execute a TMA copy whose end in shared memory is not
128-byte aligned?

The mechanism of Triton issue 10474: a pipelined loop keeps its stages in one shared buffer, tile-size apart. A tile of
16, 32 or 64 bytes puts stage 1 at 16, 32 or 64 modulo 128, which the hardware refuses. A copy counts only if it runs:
so the TTGIR is followed where a tile is suspect. What depends on data in memory is unknown; unknown is not a fault, and
is told apart in `RuleFinding.unknown`.
"""

from __future__ import annotations

import re
from typing import List, Tuple

from .rule import LaunchFacts, Rule, RuleFinding, if_sound
from .ttgir import bits

ALIGNMENT = 128
MEMDESC = re.compile(r"!ttg\.memdesc<((?:\d+x)*)([a-z]\w*)")
_COPY = re.compile(r"ttng\.async_tma_(?:copy|gather|scatter|reduce)[^\n]*")


def _suspect(text: str) -> bool:
    """Cheap: is there a copy of a tile whose size is no multiple of the alignment, or of part of a buffer?"""
    copies = _COPY.findall(text)
    parts = "memdesc_subslice" in text or "memdesc_subview" in text
    return any(parts or tile(found)[1] % ALIGNMENT for line in copies for found in [MEMDESC.findall(line)] if found)


def tile(memdescs: List[Tuple[str, str]]) -> Tuple[List[int], int]:
    """Shape and bytes of the last memory descriptor named."""
    dims, kind = memdescs[-1]
    shape = [int(n) for n in dims.split("x") if n]
    total = bits(kind)
    for n in shape:
        total *= n
    return shape, total // 8


def examine(launch: LaunchFacts) -> RuleFinding:
    found = launch.copies() if 0 not in launch.grid and _suspect(launch.ttgir) else RuleFinding()
    return if_sound(found, launch)


RULE = Rule(
    name="tma-alignment",
    code=716,  # CUDA_ERROR_MISALIGNED_ADDRESS
    words="misaligned address",
    holds="a TMA copy is executed, its place in shared memory is not 128-byte aligned, and the host waits",
    wanted="TMA needs a multiple of %d" % ALIGNMENT,
    examine=examine,
    instructions=(("TMA load ", "UTMALDG"), ("TMA store ", "UTMASTG")),
    cuda=True,
)
