"""The architectures that `--arch` may name, as their compute capability times ten: `sm_90` is 90."""

from __future__ import annotations

import re

_NUMBERS = (70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 107, 110, 120, 121)
"""What the releases of ptxas from 12.4 to 13.4 compile for; no release knows all of them."""
KNOWN = tuple(f"sm_{each}" for each in _NUMBERS)
EXAMPLES = ("sm_80", "sm_90", "sm_100")
_NAME = re.compile(r"(?:sm_?)?(\d{2,3})a?")


def number(name: str) -> int | None:
    """`sm_90` as 90; None for what is no architecture that is compiled for."""
    found = _NAME.fullmatch(name)
    return int(found[1]) if found is not None and int(found[1]) in _NUMBERS else None


def name(number: int) -> str:
    """90 as `sm_90`, as compilers and users write it."""
    return f"sm_{number}"
