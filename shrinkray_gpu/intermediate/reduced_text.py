"""What a reduction of what a compiler reads comes to: the same for IR and for PTX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from shrinkray_gpu.intermediate.search import IrTally

F = TypeVar("F")
"""A fault of some compiler; its `str` is one line."""


@dataclass(frozen=True, kw_only=True)
class ReducedText(Generic[F]):
    """The smallest text with the same fault."""

    unit: ClassVar[str]
    """What its size counts: `operations`."""
    compiler: ClassVar[str]
    """Whose release `release` is: `triton`."""

    text: str
    """The whole file."""
    fault: F
    before: int
    """Size of the file."""
    after: int
    tally: IrTally
    seconds: float
    release: str
    ended: str
    """`done`, `out of time` or `stopped`."""
    refuted: str = ""
    """What a fresh process does with the file instead of the fault; empty if it shows it."""

    @property
    def broken(self) -> int:
        """Changes that could not be made, by a bug of shrink's own."""
        return self.tally.broken

    def to_json(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "ended": self.ended,
            "fault": str(self.fault),
            self.unit: [self.before, self.after],
            "tries": self.tally.tries,
            "parsed": round(self.tally.share, 4),
            "seconds": round(self.seconds, 2),
            self.compiler: self.release,
        }
