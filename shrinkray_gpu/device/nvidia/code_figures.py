"""Figures of a kernel as its cubin has them: ptxas writes registers, stack and code there, and no tool is needed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from shrinkray_gpu.device.figures import Figures

STAGES = frozenset({"figures", "ptx"})
_INSTRUCTION = 16
"""Bytes of an instruction, from compute capability 7.0 on. ptxas fills the last 128 bytes of a kernel up with NOPs."""
_DECLARED = re.compile(r"^\s*\.local\s+\.align\s+\d+\s+\.b8\s+\w+\[(\d+)\];", re.MULTILINE)
"""Local memory that the PTX itself asks for: arrays of a library function, no spills."""
_ALIGNED = 8
"""Bytes that a stack is a multiple of."""


def figures(kernel: str, code: Mapping[str, str], shared: int) -> Figures | None:
    """Of a kernel whose `figures` (what `runner/inside/launches/cubin.py` reads) and PTX were delivered. `shared`:
    bytes that each launch asks for beside those in the cubin. None where nothing was read."""
    read = json.loads(code.get("figures") or "{}")
    if not read:
        return None
    declared = sum(-(-int(size) // _ALIGNED) * _ALIGNED for size in _DECLARED.findall(code.get("ptx", "")))
    return Figures(
        spills=max(0, read["local"] - declared),
        registers=read["registers"],
        instructions=read["code"] // _INSTRUCTION,
        shared=read["shared"] + shared,
    )
