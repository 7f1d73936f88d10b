"""`build:regex`: what nvcc says, warnings included, when the program builds its CUDA C++."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..runner.run import Run
from . import speech
from .oracle import Oracle
from .verdict import Verdict, lacks, shows

if TYPE_CHECKING:
    from .fault import Fault


@dataclass(frozen=True, kw_only=True)
class BuildSays(Oracle):
    """A build's words match. A build that succeeded in the original must succeed, since a program that does not compile
    warns of anything; and a script that ended well must end well, or the repro is one that dies of a NameError."""

    pattern: re.Pattern[str]
    failed: bool | None = None
    """Whether the original's build failed; None before calibration."""
    well: bool = False
    """Whether the original's script went to its end."""

    def found(self, run: Run) -> Verdict:
        for build in run.builds:
            if self.failed is not None and build.failed != self.failed:
                continue
            if match := self.pattern.search(build.printed):
                if self.well and run.failure is not None:
                    return lacks(f"building {build.name} says it, but then the script dies of {run.failure.type}")
                begin = build.printed.rfind("\n", 0, match.start()) + 1
                return shows(f"building {build.name}: {speech.clipped(build.printed[begin:])}")
        broken = next((build for build in run.builds if build.failed), None)
        if broken is not None and not self.failed:
            error = next((line for line in broken.printed.splitlines() if "error" in line), "")
            return lacks(f"building {broken.name} fails: {speech.clipped(error)}")
        built = f"{len(run.builds)} builds say nothing of it" if run.builds else "nothing was built"
        return lacks(f"{built}, {speech.ending(run)}")

    def calibrated(self, reference: Run) -> BuildSays:
        fitting = [build.failed for build in reference.builds if self.pattern.search(build.printed)]
        return (
            super()
            .calibrated(reference)
            ._with(failed=all(fitting) if fitting else None, well=reference.failure is None)
        )

    def binds(self, fault: Fault) -> bool:
        return False  # the script may go on, and die of something else later
