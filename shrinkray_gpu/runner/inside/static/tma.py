"""The static rule `static:tma-alignment`: does this launch execute a TMA copy whose end in shared memory is not
128-byte aligned, or whose descriptor, made on the device, begins at no multiple of 16 bytes?

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

NAME = "tma-alignment"
DESCRIBED = "base of its descriptor"
"""In a reason: what is not aligned is not in shared memory."""
ALIGNMENT = 128
"""Bytes, in shared memory."""
BASE = 16
"""Bytes, of what a descriptor describes. An H100 ends in a misaligned address (pytorch issue 184714)."""
MEMDESC = re.compile(r"!ttg\.memdesc<((?:\d+x)*)([a-z]\w*)")
_COPY = re.compile(r"ttng\.async_tma_(?:copy|gather|scatter|reduce)[^\n]*")


def _suspect(text: str) -> bool:
    """Cheap: is there a copy of a tile whose size is no multiple of the alignment, of part of a buffer, or through a
    descriptor that the kernel makes?"""
    copies = _COPY.findall(text)
    any_tile = "memdesc_subslice" in text or "memdesc_subview" in text or "tensormap_create" in text
    tiles = [found for line in copies if (found := MEMDESC.findall(line))]
    return any(any_tile or tile(found)[1] % ALIGNMENT for found in tiles)


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
    name=NAME,
    code=716,  # CUDA_ERROR_MISALIGNED_ADDRESS
    words="misaligned address",
    holds="a TMA copy is executed whose place in shared memory is not 128-byte aligned, or the base of its descriptor "
    "not 16-byte, and the host waits",
    wanted="TMA needs a multiple of %d there, and of %d where a descriptor begins" % (ALIGNMENT, BASE),
    examine=examine,
    instructions=(("TMA load ", "UTMALDG"), ("TMA store ", "UTMASTG")),
    cuda=True,
)
