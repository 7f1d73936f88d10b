"""Before the search: does the original reproduce, how often, how fast, and in which mode may candidates be judged?

Calibration decides, not hope. The original must show its fault in a mode as it does in a cold process; otherwise the
plan steps down (reused context, fresh fork, cold process) and says so. A fault that shows in some runs only has its
rate measured in the mode in which candidates will run. Nothing here, nor in the everyday run, serialises launches.
"""

from __future__ import annotations

from shrinkray_gpu.calibration.absent import adoptable_spec
from shrinkray_gpu.calibration.calibrate import make
from shrinkray_gpu.calibration.limits import Limits
from shrinkray_gpu.calibration.mode import Mode
from shrinkray_gpu.calibration.perturbed_plan import with_perturbation
from shrinkray_gpu.calibration.plan import Plan
from shrinkray_gpu.calibration.worker_lanes import IMPORTS, PATIENCE, LaneSet, cold_lanes, open_lanes

__all__ = [
    "IMPORTS",
    "PATIENCE",
    "LaneSet",
    "Limits",
    "Mode",
    "Plan",
    "adoptable_spec",
    "cold_lanes",
    "make",
    "open_lanes",
    "with_perturbation",
]
