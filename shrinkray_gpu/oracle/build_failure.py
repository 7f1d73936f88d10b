"""`build:regex`: what nvcc says, warnings included, when the program builds its CUDA C++."""

from __future__ import annotations

import re
from dataclasses import dataclass

from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.oracle.guarded_pattern import Pattern
from shrinkray_gpu.oracle.oracle import Oracle
from shrinkray_gpu.oracle.verdict import Verdict, lacks, shows
from shrinkray_gpu.runner.run import Build, Run

CALLS = "calls"
"""In what is wanted of a run: launches with their arguments, and flags of the build."""
UNSOUND = {"549": "reads a variable that was never set", "940": "has a function that returns nothing"}
"""Warnings of nvcc's front end that a candidate may not add: a program without a meaning proves nothing."""
_NUMBER = re.compile(r"#(\d+)-D\b")


@dataclass(frozen=True, kw_only=True)
class BuildOracle(Oracle):
    """A build's words match. A build that succeeded in the original must succeed, since a program that does not compile
    warns of anything; where its kernels were launched one must be launched; and a script that ended well must end well,
    or the repro is one that dies of a NameError."""

    pattern: Pattern
    failed: bool | None = None
    """Whether the original's build failed; None before calibration."""
    launches: bool = False
    """Whether the original's host code launched kernels of that build."""
    warnings: frozenset[str] = frozenset()
    """Numbers of the warnings that the original's builds have."""
    ends_well: bool = False
    """Whether the original's script went to its end."""

    def verdict(self, run: Run) -> Verdict:
        why = ""
        for build in run.builds:
            if self.failed is not None and build.failed != self.failed:
                continue
            if match := self.pattern.search(build.printed):
                if why := self._lack(build, run):
                    continue
                return shows(f"building {build.name}: {speech.matching_line(match)}")
        if why:
            return lacks(why)
        broken = next((build for build in run.builds if build.failed), None)
        if broken is not None and not self.failed:
            error = next((line for line in broken.printed.splitlines() if "error" in line), "")
            return lacks(f"building {broken.name} fails: {speech.clip(error)}")
        built = f"{len(run.builds)} builds say nothing of it" if run.builds else "nothing was built"
        return lacks(f"{built}, {speech.ending(run)}")

    def _lack(self, build: Build, run: Run) -> str:
        """What is missing beside the words, or nothing."""
        said = f"building {build.name} says it, but"
        if self.launches and not build.launched:
            return f"{said} no kernel of it is launched"
        if self.ends_well and not _ends_well(run):
            return f"{said} then {speech.ending(run)}"
        if self.failed is None:
            return ""
        more = sorted(UNSOUND.keys() & _warnings(build) - self.warnings)
        return f"{said} the source {UNSOUND[more[0]]}" if more else ""

    def calibrate(self, reference: Run) -> BuildOracle:
        fitting = [build for build in reference.builds if self.pattern.search(build.printed)]
        tuned = super().calibrate(reference)
        return tuned._with(
            failed=all(build.failed for build in fitting) if fitting else None,
            launches=any(build.launched for build in fitting),
            warnings=frozenset().union(*map(_warnings, reference.builds)),
            ends_well=_ends_well(reference),
        )

    def binds(self, fault: Fault) -> bool:
        return False  # the script may go on, and die of something else later


def _warnings(build: Build) -> frozenset[str]:
    return frozenset(_NUMBER.findall(build.printed))


def _ends_well(run: Run) -> bool:
    return run.failure is None and run.signal is None and not run.exit
