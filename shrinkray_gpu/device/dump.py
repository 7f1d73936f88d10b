"""What a core dump of a GPU says: the exception, and where it was."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Dump:
    """What a core dump says."""

    exception: str = ""
    """`Warp Misaligned Address`, `Assertion failed`; empty for a dump that was asked for (of a kernel that hangs)."""
    kernel: str = ""
    offset: int = -1
    """Of the instruction at fault from the kernel's start, in bytes; -1: not told."""
    instruction: str = ""
    precise: bool = False
    """Whether the hardware told the instruction at fault; else it is where the thread stood when it stopped."""
    file: str = ""
    line: int = 0
    block: str = ""
    thread: str = ""
    text: str = ""
    """All that the debugger said."""
