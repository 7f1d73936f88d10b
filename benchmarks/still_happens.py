"""Whether, with the fix, what failed still happens: the launch is made, its accesses touch memory, the kernel compiles.

A repro that only ends well with the fix may do so because a loop no longer runs, or a mask takes nothing. That is no
repair: the fix of the original lets the access be made, inside of its tensor.
"""

from __future__ import annotations

from collections.abc import Sequence

from seeding import runs

from shrinkray_gpu.oracle.cause_check import faulting_launch
from shrinkray_gpu.runner.inside.launches.launch_log import INTERPRETED
from shrinkray_gpu.runner.inside.static.rules import ASKED
from shrinkray_gpu.runner.run import Launch, Run

WANTS = (f"{ASKED}bounds", INTERPRETED)
"""Under this rule the virtual GPU follows each launch, and so counts the accesses that touch memory. What the host
reads of a kernel's output is computed."""
ARCH = 90


def what_is_lost(repro: str, fixed: str, arch: str = "") -> str:
    """What of the failure of a repro happens no more with its fix; empty if nothing, or if nobody can tell."""
    machine = runs.Machine(int(arch.removeprefix("sm_")) if arch else ARCH)
    with runs.lanes(machine, [], 1) as pool:
        return lost(*(pool.run(text, wants=WANTS) for text in (repro, fixed)))


def lost(failing: Run, mended: Run) -> str:
    """The same of two runs on the virtual GPU."""
    if failing.trouble or mended.trouble:
        return ""
    if refused := next((one.kernel for one in failing.compiles if one.failure), ""):
        done = {one.kernel for one in mended.compiles if not one.failure}
        return "" if refused in done else f"{refused} is compiled no more"
    launch = faulting_launch(failing) or next((one for one in failing.launches if one.failure or one.fault), None)
    wanted = [launch] if launch is not None else failing.launches
    return next(filter(None, (_of_launch(one, mended.launches) for one in wanted)), "")


def _of_launch(launch: Launch, mended: Sequence[Launch]) -> str:
    """Whether one of the launches with the fix is of the same kernel, succeeds, and makes as many accesses."""
    same = [one for one in mended if one.kernel == launch.kernel and not one.failure and _is_made(one)]
    if not same:
        return f"{launch.kernel} is launched no more"
    most = max(one.accesses for one in same)
    if most < launch.accesses:
        return f"{most} accesses of {launch.kernel} touch memory instead of {launch.accesses}"
    return ""


def _is_made(launch: Launch) -> bool:
    """Whether it has at least one program instance."""
    return all(launch.grid)
