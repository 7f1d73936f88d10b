"""Calibration: the original cold, then in the modes that may stand for that, cheapest last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from shrinkray_gpu.calibration.compared import first_look, with_comparison
from shrinkray_gpu.calibration.in_lanes import in_lanes
from shrinkray_gpu.calibration.limits import Limits
from shrinkray_gpu.calibration.original import cold_plan
from shrinkray_gpu.calibration.plan import Plan
from shrinkray_gpu.calibration.rate import with_rate
from shrinkray_gpu.calibration.worker_lanes import LaneSet, open_lanes
from shrinkray_gpu.calibration.written import with_written
from shrinkray_gpu.oracle import Oracle
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Script
from shrinkray_gpu.runner.run import Run


def make(
    source: str,
    script: Script,
    setup: Setup,
    *,
    oracle: Callable[[Run], Oracle] | Oracle,
    limits: Limits,
    seen: Sequence[Run] = (),
    bound: bool = False,
    lanes: LaneSet | None = None,
    candidates: bool = True,
) -> Plan:
    """Run the original cold, then in the modes that may stand for that. Raises NotReproduced or UsageError.

    `seen` are cold runs of it that were made before; `bound` says that the oracle knows the fault already: then that
    one is the reference, and not what this program shows. `lanes`: those that are up for it. `candidates`: whether any
    will run. Where none will, the virtual GPU's cold run has told all: chance has hardly a part there.
    """
    given = oracle if isinstance(oracle, Oracle) else None
    only_cold = not candidates and setup.arch is not None and limits.mode is None
    if only_cold:
        limits = replace(limits, mode="cold")
    lanes = lanes or open_lanes(source, script, setup, oracle=given, limits=limits)
    try:
        if given is not None:
            lanes = lanes.fitting(given)
        with ThreadPoolExecutor(1, thread_name_prefix="comparison") as beside:
            ahead = beside.submit(first_look, given, source, seen, lanes.cold) if given is not None and bound else None
            plan, colds = cold_plan(source, lanes, oracle, timeout=limits.timeout, seen=seen, bound=bound)
            plan = with_comparison(plan, source, lanes, candidates=candidates, ahead=ahead)
        if candidates:
            plan = with_written(plan, source)
        if only_cold:
            return with_rate(plan, source)
        own = given.needs.seconds if given else None
        lanes = lanes.fitting(plan.oracle)
        return in_lanes(plan, source, lanes, colds, seconds=own or limits.timeout, mode=limits.mode).measured()
    except BaseException:
        lanes.close()
        raise
