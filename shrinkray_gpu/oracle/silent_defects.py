"""What a program does right and no device tells of: no candidate may do it wrong, or the repro has a second defect.

A store that loses its offset lets all program instances write to one element. A kernel that is gone leaves a tensor
that nobody writes. The fault that is asked about stays the same, and once it is mended the repro is still wrong.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from shrinkray_gpu.runner.inside.launches.launch_log import NOT_FOLLOWED
from shrinkray_gpu.runner.inside.static.cause import RACE, Cause
from shrinkray_gpu.runner.run import Run

WHOSE = {
    False: "the reduction brought that, the original has nothing of it",
    None: "whether the original has the like is not known",
}


@dataclass(frozen=True)
class SilentDefects:
    """Whether the original has any in its launches; None where nobody knows."""

    racing: bool | None
    """Program instances race."""
    unwritten: bool | None
    """A launch loads from a tensor to which nobody wrote at all. Of one that is written in part nothing is known, so to
    lose the rest of it is a defect that the original has not."""

    @classmethod
    def of(cls, run: Run) -> SilentDefects:
        if not run.virtual or any(launch.unordered == NOT_FOLLOWED for launch in run.launches):
            return cls(None, None)
        found = {cause.breaks for launch in run.launches for cause in launch.silent}
        unordered = any(launch.unordered for launch in run.launches)
        return cls(True if RACE in found else None if unordered else False, bool(found - {RACE}))

    def _has(self, cause: Cause) -> bool | None:
        return self.racing if cause.breaks == RACE else self.unwritten

    def brought(self, run: Run) -> str:
        """What a run of a candidate has of it and the original has not; empty if nothing."""
        for launch in run.launches:
            for cause in launch.silent:
                if self._has(cause) is False:
                    return cause.sentence
            if launch.unordered not in ("", NOT_FOLLOWED) and self.racing is False:
                return f"program instances of {launch.kernel} may race: {launch.unordered}"
        return ""

    def second(self, run: Run, of_fault: Container[str]) -> str:
        """What a run of the repro has of it and the original has not, or for all that is known; empty if nothing.
        `of_fault`: the static rules that the fault itself breaks."""
        found = (cause for launch in run.launches for cause in launch.silent)
        silent = (cause for cause in found if self._has(cause) is not True and cause.breaks not in of_fault)
        return next((f"{cause.sentence}; {WHOSE[self._has(cause)]}" for cause in silent), "")
