"""What the original shows in cold processes: the fault to look for, and whether it always shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shrinkray_gpu.calibration.absent import explain, refuse
from shrinkray_gpu.calibration.missed import (
    beside_the_point,
    kernels_ran,
    no_kernel_ran,
    once_more,
    runs_until_fault,
    several,
    verdict_on,
)
from shrinkray_gpu.calibration.mode import Mode
from shrinkray_gpu.calibration.plan import Plan, Reproduction
from shrinkray_gpu.calibration.worker_lanes import LaneSet
from shrinkray_gpu.device import gpus
from shrinkray_gpu.oracle import Oracle
from shrinkray_gpu.oracle.verdict import Verdict
from shrinkray_gpu.runner.inside.launches.launch_log import INTERPRETED
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Run

COLD_RUNS = 3
"""Of the original on a GPU, beside each other: that a fault shows in some runs only is most often seen at once then."""


def cold_plan(
    source: str,
    lanes: LaneSet,
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
    if isinstance(oracle, Oracle):
        refuse(oracle, colds[0], pool.script)
        colds = _with_kernels_run(colds, lambda run: verdict_on(oracle, source, pool.script, run), pool, source)
    at_first = len(colds)
    looked, first = (colds, colds[0]) if isinstance(oracle, Oracle) else runs_until_fault(colds, source, lanes)
    judged = oracle if isinstance(oracle, Oracle) else oracle(first)
    lanes = lanes.fitting(judged)
    verdicts = [verdict_on(judged, source, pool.script, run) for run in looked]
    if not any(verdict.faults for verdict in verdicts):
        once_more(looked, verdicts, judged, source, lanes)
    reference = next((run for run, verdict in zip(looked, verdicts) if verdict.faults), None)
    if reference is None:
        beside = beside_the_point(looked, judged, source, lanes)
        raise explain(looked, verdicts[0], judged, pool.setup, pool.script, timeout, beside)
    # Not those in a lane, unless there are no others.
    cold = [run for run in colds if run.mode == "cold"] or colds
    reproduction = Reproduction(
        oracle=judged if bound else judged.calibrate(reference),
        reference=reference,
        faulted=sum(verdict.faults for verdict in verdicts[: len(colds)]),
        runs=len(colds),
        cold_seconds=min(run.seconds for run in cold),
        warm_seconds=min(run.seconds for run in colds),
    )
    mode = Mode("cold", "as asked", lanes.cold.terms, peak=max(run.peak for run in colds))
    plan = Plan(reproduction, mode, lanes.cold, gpu, lanes.starter)
    if plan.oracle.needs.interpreted:
        plan = plan.noted(
            "Triton's interpreter runs kernels here, one after another: the fault hangs on what they write"
        )
    if again := len(looked) - at_first:
        plan = plan.noted(f"a run ended without the fault, which may be a flaky one: it was made {again} times more")
    return plan, colds


def _with_kernels_run(colds: list[Run], judged: Callable[[Run], Verdict], pool: Pool, source: str) -> list[Run]:
    """The runs; or one more alone, in which Triton's interpreter runs kernels, if that answers and they do not show the
    fault."""
    if len(colds) != 1 or not no_kernel_ran(colds[0]) or judged(colds[0]).faults:
        return colds
    again = pool.cold(source, wants=(INTERPRETED,))
    return [again] if kernels_ran(again) and judged(again).is_known else colds
