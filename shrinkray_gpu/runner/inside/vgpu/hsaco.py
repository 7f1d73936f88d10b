"""What AMD's assembler says in a code object of the registers that a kernel takes, and of its scratch memory.

The code object has a note in MessagePack: each name stands before its number. Triton puts one kernel into each.
"""

from __future__ import annotations

from typing import Tuple

from ..launches import cubin

_SIZES = {0xCC: 1, 0xCD: 2, 0xCE: 4}
"""MessagePack's unsigned integers: the bytes of the number, by the byte before it. Up to 127 there is no such byte."""


def resources(code: bytes, name: str) -> Tuple[int, int]:
    """Vector registers of each lane, and bytes of its scratch memory (where they spill, for one): what HIP's driver
    tells. Unknown of what is no code object."""
    try:
        return _number(code, b".vgpr_count"), _number(code, b".private_segment_fixed_size")
    except (ValueError, KeyError, IndexError, TypeError):
        return cubin.UNKNOWN


def _number(code: bytes, key: bytes) -> int:
    at = code.index(bytes([0xA0 + len(key)]) + key) + 1 + len(key)
    first = code[at]
    return first if first < 128 else int.from_bytes(code[at + 1 : at + 1 + _SIZES[first]], "big")
