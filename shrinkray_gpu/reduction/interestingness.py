"""The interestingness test: the one door through which the engine asks whether a candidate is still interesting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from shrinkray_gpu.oracle.verdict import Verdict
from shrinkray_gpu.reduction.program import Program

TRACEBACK = 1 << 30
"""The number under which a watched run tells the lines of its traceback, the outermost first, with blanks between."""


class InterestingnessTest(Protocol):
    """What judges candidates. Its verdicts may become stricter on the way, and never looser."""

    def judge(self, programs: Sequence[Program]) -> list[Verdict]:
        """Verdicts in the order of the programs."""

    def foresee(self, likely: Iterable[Program]) -> None:
        """What will most likely be asked after the next call of `judge`, soonest first. May be ignored."""

    def insist(self, on: bool) -> None:
        """The last round has come, or is over: in it a provisional "no" is asked again."""

    def values(self, program: Program) -> Mapping[int, str]:
        """What a watched run of an instrumented program saw: source text by the number of the watched expression, and
        the lines of `TRACEBACK`."""
