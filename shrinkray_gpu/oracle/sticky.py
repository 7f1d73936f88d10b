"""A sticky CUDA error, asked of the driver. What the script prints, raises or catches neither makes nor hides one."""

from __future__ import annotations

from dataclasses import dataclass

from shrinkray_gpu.device import error_table
from shrinkray_gpu.device.device_error import DeviceError
from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.driver_error import OUTSIDE, driver_was_asked, static_rule, sticky_code, undecided_by
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.oracle.oracle import Oracle
from shrinkray_gpu.oracle.verdict import Verdict, lacks, shows, unclear
from shrinkray_gpu.runner.run import Run


@dataclass(frozen=True, kw_only=True)
class StickyOracle(Oracle):
    """The driver ends the run with this error.

    Uncalibrated the code alone decides, even if the script caught the exception and exited 0. Calibration adds
    how the original let its user see it, since a repro that ends well although the context is dead (nothing
    in it waits for the device) is no use to anybody.
    """

    error: DeviceError
    shown: str = ""
    """How the original showed it: `raised` (in its last words), `died` (of something else), `swallowed` (exit 0)."""
    death: tuple[str | int | None, ...] = ()
    """For `died`: type of the exception, exit status, signal."""
    either: bool = False
    """Whether the other error of the pair will do in a process as its user starts it: the original itself ended in it,
    or another run of the same program in what was asked for."""

    def verdict(self, run: Run) -> Verdict:
        code, source = sticky_code(run)
        where = _where(run)
        if code and self._fits(code, run):
            hidden = self._hidden(run)
            return lacks(hidden) if hidden else shows(f"{source} {error_table.by_code(code)}{where}")
        if code:
            return lacks(f"{source} another error: {error_table.by_code(code)}{where}")
        if run.virtual and (undecided := undecided_by(run, self.needs.rules)):
            return unclear(undecided)
        if not driver_was_asked(run):
            if self.shown == "swallowed" and not speech.has_failed(run):
                return unclear(f"it ends well, as the original does, and in a {run.mode} run nobody asks the driver")
            return lacks(f"{speech.ending(run)}, without {self.error.text!r}")
        none = "no static rule predicts an error" if run.virtual else "the driver reports no error"
        if any(self.error.text.casefold() in said.text.casefold() for said in speech.failure_words(run)):
            return lacks(f"the words are the script's own: {none}, {speech.ending(run)}")
        return lacks(f"{none}, {speech.ending(run)}")

    def binds(self, fault: Fault) -> bool:
        return fault.phase == "device"

    def calibrate(self, reference: Run) -> StickyOracle:
        tuned = super().calibrate(reference)
        code, _ = sticky_code(reference)
        if reference.mode == "cold" and {code, self.error.code} == OUTSIDE:
            tuned = tuned._with(either=True)
        if not speech.has_failed(reference):
            return tuned._with(shown="swallowed")
        if self._raised(reference):
            return tuned._with(shown="raised")
        return tuned._with(shown="died", death=_death(reference))

    def taking_either(self) -> StickyOracle:
        return self._with(either=True)

    def _fits(self, code: int, run: Run) -> bool:
        """Which of the pair one access ends in depends on where its address falls; but the user's own run, at the very
        end, must say what the user asked for, unless the original does not either. On the virtual GPU a static rule
        tells of AMD's errors by CUDA's codes."""
        if self.error.like and run.virtual:
            return code in codes_like(self.error)
        return code == self.error.code or ((run.mode != "plain" or self.either) and {code, self.error.code} == OUTSIDE)

    def _raised(self, run: Run) -> bool:
        errors = (error_table.sticky_in(said.text) for said in speech.failure_words(run))
        return any(error is not None and self._fits(error.code, run) for error in errors)

    def _hidden(self, run: Run) -> str:
        """Why a user would not see the error that the driver holds, though the original's user did."""
        if self.shown in ("", "swallowed"):
            return ""
        if not speech.has_failed(run):
            return f"the driver holds {self.error}, but the script ends well: nothing in it waits for the device"
        if self.shown == "raised" and not self._raised(run):
            return f"the driver holds {self.error}, but {speech.ending(run)} before that shows"
        if self.shown == "died" and not self._raised(run) and _death(run) != self.death:
            return f"the driver holds {self.error}, but {speech.ending(run)}, not as the original does"
        return ""


def _death(run: Run) -> tuple[str | int | None, ...]:
    failure = speech.uncaught(run)
    kind = failure.type.rpartition(".")[2] if failure else None
    return (kind, run.exit, run.signal)


def _where(run: Run) -> str:
    """The launch that it must have been in: the last one, or the one that a static rule names."""
    for launch in run.launches:
        if static_rule(launch):
            return f", launch of {launch.kernel}"
    return speech.last_launch(run)


def codes_like(error: DeviceError) -> frozenset[int]:
    """CUDA's error codes in which the same access may end."""
    code = error.like or error.code
    return frozenset(OUTSIDE) if code in OUTSIDE else frozenset({code})
