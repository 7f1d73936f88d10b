"""Before the search: does the original reproduce, how often, how fast, and in which mode may candidates be judged?

Calibration decides, not hope. The original must show its fault in a mode as it does in a cold process; otherwise the
plan steps down (reused context, fresh fork, cold process) and says so. A fault that shows in some runs only has its
rate measured in the mode in which candidates will run. Nothing here, nor in the everyday run, serialises launches.
"""

from __future__ import annotations

from shrinkray_gpu.calibration.absent import adopted
from shrinkray_gpu.calibration.calibrate import make
from shrinkray_gpu.calibration.perturbed_plan import perturbed
from shrinkray_gpu.calibration.plan import Plan
from shrinkray_gpu.calibration.worker_lanes import IMPORTS, PATIENCE, Lanes, cold_lanes, open_lanes

__all__ = ["IMPORTS", "PATIENCE", "Lanes", "Plan", "adopted", "cold_lanes", "make", "open_lanes", "perturbed"]
