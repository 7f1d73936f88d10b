"""Three-valued verdicts. Unknown is never silently "no"."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from shrinkray_gpu.oracle.fault import Fault


class Answer(enum.Enum):
    FAULTS = "faults"
    PASSES = "does not fault"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Verdict:
    """Whether a run shows the fault, and why we say so (one line, for the journal and the user).

    A provisional "no" comes from a context that another candidate used before: memory that one mapped can swallow an
    access out of bounds. The last round asks again in a fresh context.
    """

    answer: Answer
    why: str = ""
    provisional: bool = False
    other: Fault | None = None
    """For a "no": the other fault that the run shows, if it is one worth telling (see `fault.lookalike`)."""
    credit: bool = False
    """No lane ran it: a dry run makes the launches of a program that was judged before, or shows the fault itself."""
    certain: bool = False
    """For a "no" to a flaky fault: chance has no part in it (a typing error, a kernel that does not compile)."""

    @property
    def faults(self) -> bool:
        return self.answer is Answer.FAULTS

    @property
    def is_known(self) -> bool:
        return self.answer is not Answer.UNKNOWN


def shows(why: str) -> Verdict:
    return Verdict(Answer.FAULTS, why)


def lacks(why: str) -> Verdict:
    return Verdict(Answer.PASSES, why)


def unclear(why: str) -> Verdict:
    return Verdict(Answer.UNKNOWN, why)
