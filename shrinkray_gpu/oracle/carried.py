"""What a process of the script died of, asked of a script that has nothing but the launch of that process.

The original ends in an exception that only says that a child failed (`ProcessRaisedException`), and quotes it. A
lifted launch has no child: it dies of the quoted fault itself, under the name that Triton, the compiler or the driver
has for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.oracle.oracle import Oracle
from shrinkray_gpu.oracle.verdict import Verdict, lacks, shows
from shrinkray_gpu.runner.run import Run

OF_A_KERNEL = frozenset({"compile", "launch", "device"})


@dataclass(frozen=True, kw_only=True)
class ChildFault(Oracle):
    """Whether a run dies of what one of these children died of, while its kernel is compiled or runs."""

    inner: Oracle | None
    """What the user asked for, if anything, before calibration: that must hold, too."""
    child: str
    """As `Fault.child` has it: normalised, a line for each."""

    def judge(self, run: Run) -> Verdict:
        if self.inner is not None and not (verdict := self.inner.judge(run)).faults:
            return verdict
        fault = Fault.of(run)
        if fault is None or fault.phase not in OF_A_KERNEL:
            return lacks("it shows no fault of a kernel")
        words = fault.text or fault.klass
        if died := next((line for line in self.child.splitlines() if words in line), ""):
            return shows(died)
        return lacks(f"no child of the original died of {words!r}")
