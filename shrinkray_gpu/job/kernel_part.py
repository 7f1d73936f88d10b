"""Whether a fault hangs on a kernel at all: who reduces whatever fails (`pytest --shrink`) wants no other one.

A person who names a file knows why, and is not asked.
"""

from __future__ import annotations

from shrinkray_gpu.calibration import Plan
from shrinkray_gpu.errors import NoKernelInvolved
from shrinkray_gpu.oracle import Fault
from shrinkray_gpu.runner.run import Run


def check_touched(run: Run) -> None:
    """Raises NoKernelInvolved where nothing was compiled or launched, here or in a child process."""
    if not (run.launches or run.compiles or run.builds or run.children or run.driver_error):
        raise NoKernelInvolved("no kernel was compiled or launched before it failed")


def check_plan(plan: Plan, *, lifted: bool) -> None:
    """The same, once it is known what comes to the check that fails. A lifted launch shows it by itself."""
    run = plan.reference
    fault = Fault.of(run)
    on_host = fault is not None and fault.phase in ("python", "exit") and not run.children and run.signal is None
    if on_host and not lifted and not plan.oracle.needs.compared:
        raise NoKernelInvolved(f"{fault}, and nothing that a kernel wrote is seen to come to it")
