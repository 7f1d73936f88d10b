"""Extent: what of a program a reader sees. No result may have more of it than the program that was given.

The size order alone does not see to that: it counts no lines, and guards come before tokens.
"""

from __future__ import annotations

from typing import NamedTuple

from shrinkray_gpu.reduction.size import lines, tokens


class Extent(NamedTuple):
    tokens: int
    lines: int
    """Those that are not blank."""

    @classmethod
    def of(cls, text: str) -> Extent:
        return cls(tokens(text), lines(text))

    def holds(self, other: Extent) -> bool:
        """Whether the other one is within this one."""
        return other.tokens <= self.tokens and other.lines <= self.lines
