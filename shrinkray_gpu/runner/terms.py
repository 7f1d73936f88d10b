"""On what terms candidates are run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Terms:
    """On what terms a pool runs candidates."""

    mode: str
    """Names the runs: `fork`, `virtual`; or `cold`, which starts a process for each."""
    jobs: int
    """Runs at a time; the others wait."""
    seconds: float
    extra: float
    """Seconds more for a run whose process imports what a lane has imported already."""
    reuse: bool = False
    """Whether a lane takes another candidate after one that left it clean."""
    narrow: bool = False
    """Whether lanes' contexts have one hardware queue each, see NARROW; what the user or the script sets stays."""
    forked: bool = False
    """Whether a process of its own may be a fork of a zygote."""
