"""The architectures that `--arch` may name, as their digits, which are hexadecimal: `gfx942` is 0x942."""

from __future__ import annotations

KNOWN = (
    "gfx906 gfx908 gfx90a gfx940 gfx941 gfx942 gfx950 gfx1010 gfx1030 gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 "
    "gfx1152 gfx1153 gfx1200 gfx1201 gfx1250"
).split()
"""What the releases of Triton from 3.5 to 3.9 compile for; no release is good at all of them."""
EXAMPLES = ("gfx942", "gfx950", "gfx1100")


def number(name: str) -> int | None:
    """`gfx942` as 0x942; None for what is no architecture that is compiled for."""
    return int(name.removeprefix("gfx"), 16) if name in KNOWN else None


def name(number: int) -> str:
    """0x942 as `gfx942`, as compilers and users write it."""
    return f"gfx{number:x}"
