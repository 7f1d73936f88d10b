"""What the text of AMD's machine code says of the kernel: the metadata at its end has a line for each number."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"^\s*\.(\w+):\s+(\d+)$", re.MULTILINE)
_TOLD = (
    ("vgpr_count", "{} vector registers"),
    ("vgpr_spill_count", "{} of them spilled"),
    ("sgpr_count", "{} scalar registers"),
    ("sgpr_spill_count", "{} of them spilled"),
    ("group_segment_fixed_size", "{} bytes of shared memory (LDS)"),
    ("private_segment_fixed_size", "{} bytes of scratch memory a lane"),
)


def numbers(text: str) -> dict[str, int]:
    """Each number by the name that the metadata give it, such as `vgpr_spill_count`."""
    return {name: int(value) for name, value in _NUMBER.findall(text)}


def resources(text: str) -> str:
    """Registers, spills and memory of the kernel, in words; empty where the text does not tell."""
    found = numbers(text)
    return ", ".join(words.format(found[name]) for name, words in _TOLD if name in found)
