"""`hang[:seconds]`: it does not end, and it hangs where the original does, in a kernel on the GPU or on the host.

`timeout` cannot tell the two apart, so a reducer takes an endless Python loop for the kernel that spins.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.needs import Needs
from shrinkray_gpu.oracle.oracle import Oracle
from shrinkray_gpu.oracle.verdict import Verdict, lacks, shows, unclear
from shrinkray_gpu.runner.run import Run

DEVICE, HOST, LEFT = "device", "host", "left"
SECONDS = 10.0
RENAMED = re.compile(r"kernel\d?")
"""What `passes/python/names.py` calls a kernel. Any other name that the original did not launch is another kernel's."""


@dataclass(frozen=True, kw_only=True)
class HangOracle(Oracle):
    """Stopped at its time limit, with the same party at work as in the original. Asked with nothing beside it."""

    needs: Needs = Needs(timing=True, seconds=SECONDS)
    place: str = ""
    """Where the original hangs: `device`, `host`, or `left` if it ends and leaves the GPU at work; empty before
    calibration."""
    kernels: frozenset[str] = frozenset()
    """For a hang on the device: what the original had launched by then. One of them hangs."""

    def verdict(self, run: Run) -> Verdict:
        if not run.timed_out:
            return lacks(f"{speech.ending(run)} after {run.seconds:.1f} s")
        if run.mode == "plain":
            return unclear("it does not end, and in a plain run nobody asks whether the GPU is at work")
        if run.hanging not in (DEVICE, LEFT, HOST):
            return unclear(f"it did not end within {self._seconds}, and nobody could tell whether the GPU was at work")
        hangs = self._on_the_host(run) if run.hanging == HOST else self._on_the_device(run)
        if run.hanging == LEFT and self.place == DEVICE:
            return lacks(f"{hangs}, but the script ends: nothing in it waits for that")
        if self.place and run.hanging != self.place:
            where = "on the host" if self.place == HOST else "in a kernel"
            return lacks(f"{hangs}, but the original hangs {where}")
        known = [kernel for kernel in _launched(run) if kernel in self.kernels or RENAMED.fullmatch(kernel)]
        if run.hanging != HOST and self.kernels and not known:
            return lacks(f"{hangs}, but that is another kernel than the original's {', '.join(sorted(self.kernels))}")
        return shows(hangs)

    def calibrate(self, reference: Run) -> HangOracle:
        kernels = frozenset(_launched(reference)) if reference.hanging in (DEVICE, LEFT) else frozenset()
        return super().calibrate(reference)._with(place=reference.hanging, kernels=kernels)

    def _on_the_device(self, run: Run) -> str:
        """Launches return at once and run in order of their streams: with several kernels the last need not be it."""
        launched = _launched(run)
        if len(launched) == 1:
            return f"kernel {launched[0]} does not end within {self._seconds}"
        last = speech.last_launch(run) or ", none of Triton's kernels was launched"
        return f"the GPU is still at work after {self._seconds}{last}"

    def _on_the_host(self, run: Run) -> str:
        return f"the host is still at work after {self._seconds}, and the GPU is not{speech.last_launch(run)}"

    @property
    def _seconds(self) -> str:
        return f"{self.needs.seconds:g} s"


def _launched(run: Run) -> tuple[str, ...]:
    return tuple(dict.fromkeys(launch.kernel for launch in run.launches))
