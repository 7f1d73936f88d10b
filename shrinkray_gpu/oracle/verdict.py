"""Three-valued verdicts. Unknown is never silently "no"."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Answer(enum.Enum):
    FAULTS = "faults"
    PASSES = "does not fault"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Verdict:
    """Whether a run shows the fault, and why we say so (one line, for the journal and the user)."""

    answer: Answer
    why: str = ""

    @property
    def faults(self) -> bool:
        return self.answer is Answer.FAULTS

    @property
    def known(self) -> bool:
        return self.answer is not Answer.UNKNOWN
