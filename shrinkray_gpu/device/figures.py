"""Figures of a compiled kernel that tell how good the compiler's code is. They need no device and no driver."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figures:
    """What one kernel takes."""

    spills: int
    """Bytes of memory of its own that each thread has for values that no register holds."""
    registers: int
    """Of each thread."""
    instructions: int
    """Of the machine code."""
    shared: int
    """Bytes of shared memory, of a block."""
