"""`differs:WAY` and `nondeterministic`: kernels whose outputs depend on what must not matter.

The sound form of a wrong-result oracle. A kernel is held against itself: with a knob turned, or run again. An edit that
changes what the program means changes both runs alike, so it cannot make up the fault.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.oracle.oracle import Oracle
from shrinkray_gpu.oracle.verdict import Verdict, lacks, shows, unclear
from shrinkray_gpu.runner.run import Difference, Run
from shrinkray_gpu.runner.twins import AGAIN, HOPELESS

KINDS = ("tolerance", "wrong", "nan")
"""From weak to strong: near but not equal, beyond rounding, not a number in one run only."""

Self = TypeVar("Self", bound="DisagreementOracle")


@dataclass(frozen=True, kw_only=True)
class DisagreementOracle(Oracle):
    """A plain run's kernels and those of its twins must disagree, in a manner that once calibrated stays the same.

    Which kernel and which argument is told but not compared: names change in a reduction.
    """

    kinds: frozenset[str] = frozenset(KINDS)
    """Those that count."""

    def verdict(self, run: Run) -> Verdict:
        strongest = max(self._mine(run), key=lambda difference: KINDS.index(difference.kind), default=None)
        if strongest is not None and strongest.kind in self.kinds:
            return shows(_told(strongest))
        if strongest is not None:
            wanted = " or ".join(kind for kind in reversed(KINDS) if kind in self.kinds)
            return lacks(f"they disagree in another manner than asked for ({wanted}): {_told(strongest)}")
        if self._names() <= set(run.compared):
            return lacks(f"{self._agreement()}; {speech.ending(run)}")
        if run.driver_error or run.signal is not None:
            return lacks(f"{speech.ending(run)}, so its outputs cannot be read")
        if run.incomparable.startswith(HOPELESS):
            return lacks(f"{run.incomparable}; {speech.ending(run)}")
        return unclear(run.incomparable or "it was run in one way only, so nothing was compared")

    def calibrate(self: Self, reference: Run) -> Self:
        tuned = super().calibrate(reference)
        kinds = {difference.kind for difference in self._mine(reference)}
        return tuned._with(kinds=self._like(max(kinds, key=KINDS.index))) if kinds else tuned

    def binds(self, fault: Fault) -> bool:
        """No: what the script dies of, if it does, is not what is asked about."""
        return False

    def _mine(self, run: Run) -> list[Difference]:
        names = self._names()
        return [difference for difference in run.differences if difference.way in names]

    # What a kind supplies.

    def _names(self) -> set[str]:
        """Of the ways whose differences are the fault."""
        raise NotImplementedError

    def _like(self, kind: str) -> frozenset[str]:
        """The kinds that are the same fault as this one."""
        raise NotImplementedError

    def _agreement(self) -> str:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class DifferenceOracle(DisagreementOracle):
    """The first twin has one knob turned. The second has not: it is there for what chance does without any knob."""

    steady: bool | None = None
    """Whether the original agrees with itself when run again; None before calibration, or if that is not known."""

    def verdict(self, run: Run) -> Verdict:
        verdict = super().verdict(run)
        if not verdict.faults or not self.steady:
            return verdict
        if any(difference.way == AGAIN for difference in run.differences):
            return lacks("it differs from run to run with nothing turned, which the original does not")
        if AGAIN not in run.compared:
            return unclear(f"whether it agrees with itself is not known: {run.incomparable}")
        return verdict

    def calibrate(self, reference: Run) -> DifferenceOracle:
        known = AGAIN in reference.compared
        steady = not any(difference.way == AGAIN for difference in reference.differences) if known else None
        return super().calibrate(reference)._with(steady=steady)

    def _names(self) -> set[str]:
        return {self.needs.twins[0].name}

    def _like(self, kind: str) -> frozenset[str]:
        return frozenset({kind})

    def _agreement(self) -> str:
        return f"with {self.needs.twins[0].name} all outputs are the same"


@dataclass(frozen=True, kw_only=True)
class Nondeterministic(DisagreementOracle):
    """The twins are repetitions. Sums in an order that chance decides differ in the last bits, and that is another
    matter than a race that spoils elements; whether these end up as numbers is chance again."""

    def _names(self) -> set[str]:
        return {way.name for way in self.needs.twins}

    def _like(self, kind: str) -> frozenset[str]:
        return frozenset({kind} if kind == "tolerance" else {"wrong", "nan"})

    def _agreement(self) -> str:
        return f"all outputs are the same in {len(self.needs.twins) + 1} runs"


def _told(found: Difference) -> str:
    who = "two runs" if found.way.startswith(AGAIN) else f"{found.way} and as it is"
    manner = {"nan": "not finite in one only", "wrong": "wrong", "tolerance": "not equal, within tolerance"}[found.kind]
    return (
        f"{who} disagree: kernel {found.kernel}, launch {found.launch}, argument {found.argument}: {manner} in "
        f"{found.elements} of {found.total} elements, largest difference {found.largest:.3g}"
    )
