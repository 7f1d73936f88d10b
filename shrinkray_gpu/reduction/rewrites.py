"""Rewrites of the whole script that are no passes: nothing searches for a subset of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shrinkray_gpu.reduction.program import Program


@dataclass(frozen=True)
class Rewrites:
    """In the order of time: before all passes, for those that need values, and after all of them."""

    lifts: Callable[[], Sequence[str]] | None = None
    """Makes scripts of the faulty launch alone. Asked once."""
    instrument: Callable[[Program], Program] | None = None
    """The program with watched expressions, for the passes that need values; None where no run can be watched."""
    layout: Callable[[str], str] | None = None
    """Sets the result for its reader."""
