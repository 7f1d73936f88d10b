"""What the original shows in cold processes: the fault to look for, and whether it always shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shrinkray_gpu.calibration.absent import explain
from shrinkray_gpu.calibration.missed import once_more, several, until_adopted, verdict_on
from shrinkray_gpu.calibration.plan import Plan
from shrinkray_gpu.calibration.worker_lanes import Lanes
from shrinkray_gpu.device import gpus
from shrinkray_gpu.oracle import Oracle
from shrinkray_gpu.runner.run import Run

COLD_RUNS = 3
"""Of the original on a GPU, beside each other: that a fault shows in some runs only is most often seen at once then."""


def shown(
    source: str,
    lanes: Lanes,
    oracle: Callable[[Run], Oracle] | Oracle,
    *,
    timeout: float | None,
    seen: Sequence[Run],
    bound: bool,
) -> tuple[Plan, Sequence[Run]]:
    """The plan as it is if candidates run in cold processes too, and the runs it rests on. Raises NotReproduced or
    UsageError where none of them shows a fault."""
    pool = lanes.cold
    gpu = pool.setup.arch is None and gpus.present()
    # Where time is the question they come one after another: then lanes, if there are any, tell more for less.
    alone = isinstance(oracle, Oracle) and oracle.needs.timing and lanes.warm is not None
    colds = [*seen, *several(pool, source, (COLD_RUNS if gpu and not alone else 1) - len(seen))]
    pool.peak = max(pool.peak, *(run.peak for run in colds))
    looked, first = (colds, colds[0]) if isinstance(oracle, Oracle) else until_adopted(colds, source, lanes)
    judged = oracle if isinstance(oracle, Oracle) else oracle(first)
    if judged.needs.timing:
        lanes.limit(1)
    verdicts = [verdict_on(judged, source, pool.script, run) for run in looked]
    if not any(verdict.faults for verdict in verdicts):
        once_more(looked, verdicts, judged, source, lanes)
    reference = next((run for run, verdict in zip(looked, verdicts) if verdict.faults), None)
    if reference is None:
        raise explain(looked, verdicts[0], judged, pool.setup, pool.script, timeout)
    # Not those in a lane, unless there are no others.
    cold = [run for run in colds if run.mode == "cold"] or colds
    plan = Plan(
        mode="cold",
        why="as asked",
        oracle=judged if bound else judged.calibrate(reference),
        reference=reference,
        faulted=sum(verdict.faults for verdict in verdicts[: len(colds)]),
        runs=len(colds),
        cold_seconds=min(run.seconds for run in cold),
        warm_seconds=min(run.seconds for run in colds),
        pool=pool,
        gpu=gpu,
        starter=lanes.starter,
    )
    return plan, colds
