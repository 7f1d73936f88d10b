"""Calibration: the original cold, then in the modes that may stand for that, cheapest last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from shrinkray_gpu.oracle import Oracle
from shrinkray_gpu.planning.absent import explain
from shrinkray_gpu.planning.dry import gated, with_dry
from shrinkray_gpu.planning.lanes import BUILDING, FLOOR, Lanes, closed, open_lanes
from shrinkray_gpu.planning.missed import once_more, several, until_adopted, verdict_on
from shrinkray_gpu.planning.plan import Plan
from shrinkray_gpu.planning.rating import rated
from shrinkray_gpu.planning.standing import StepDown, fitting, in_a_fork, reusing
from shrinkray_gpu.runner import gpus
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Run


def make(
    source: str,
    script: Script,
    setup: Setup,
    *,
    oracle: Callable[[Run], Oracle] | Oracle,
    jobs: int,
    timeout: float | None,
    devices: tuple[str, ...],
    mode: str | None = None,
    seen: Sequence[Run] = (),
    bound: bool = False,
    lanes: Lanes | None = None,
) -> Plan:
    """Run the original cold, then in the modes that may stand for that. Raises NotReproduced or UsageError.

    `seen` are cold runs of it that were made before; `bound` says that the oracle knows the fault already: then that
    one is the reference, and not what this program shows. `lanes`: those that are up for it.
    """
    gpu = setup.arch is None and gpus.present()
    given = oracle if isinstance(oracle, Oracle) else None
    own = given.limit if given else None
    jobs = 1 if given and given.alone else jobs
    lanes = lanes or open_lanes(
        source, script, setup, oracle=given, jobs=jobs, timeout=timeout, devices=devices, mode=mode
    )
    cold_pool, starter, forking = lanes.cold, lanes.starter, lanes.forking
    pool, dry, started, dry_started = lanes.warm, lanes.dry, lanes.started, lanes.dry_started
    limit, extra = cold_pool.seconds, cold_pool.extra
    try:
        colds = [*seen, *several(cold_pool, source, (3 if gpu else 1) - len(seen))]

        # The fault to look for, and a run that shows it.
        looked, first = until_adopted(colds, source, lanes) if given is None else (colds, colds[0])
        judged = oracle if isinstance(oracle, Oracle) else oracle(first)
        if judged.alone and jobs > 1:
            jobs = 1
            for one in (cold_pool, pool, dry):
                if one is not None:
                    one.limit(1)
        verdicts = [verdict_on(judged, source, script, run) for run in looked]
        if not any(verdict.faults for verdict in verdicts):
            once_more(looked, verdicts, judged, source, lanes)
        reference = next((run for run, verdict in zip(looked, verdicts) if verdict.faults), None)
        if reference is None:
            raise explain(looked, verdicts[0], judged, setup, script, timeout)
        if not bound:
            judged = judged.calibrated(reference)
        faulted = sum(verdict.faults for verdict in verdicts[: len(colds)])
        # Not those in a lane, unless there are no others.
        cold = [run for run in colds if run.mode == "cold"] or colds
        plan = Plan(
            mode="cold",
            why="as asked",
            oracle=judged,
            reference=reference,
            faulted=faulted,
            runs=len(colds),
            cold_seconds=min(run.seconds for run in cold),
            warm_seconds=min(run.seconds for run in colds),
            pool=cold_pool,
            gpu=gpu,
            starter=starter,
        )
        if not judged.needs_run:
            pool, dry = closed(pool, dry)
            return rated(replace(plan, why="the oracle runs the program itself"), source)
        if pool is None or started is None:
            plan = rated(plan, source)
            if dry is not None and dry_started is not None:
                dry_started.result()
                plan = gated(plan, dry, source)
                plan.pool.seconds = own or timeout or max(FLOOR, 4 * max(run.seconds for run in colds))
            return plan
        report = started.result()
        plan = replace(plan, versions=report["versions"])
        touched, spoilt = gpu and bool(report["touched"]), gpu and bool(report["spoilt"])
        if spoilt and not touched:  # by our own warming up
            pool.close()
            bare = replace(forking, prepare=False)
            pool = Pool(script, bare, mode="fork", jobs=jobs, seconds=limit, devices=devices, extra=extra)
            touched = bool(starter.submit(pool.start, source).result()["touched"])
        try:
            plan = in_a_fork(plan, pool, source, touched=touched)
        except StepDown as reason:
            pool, dry = closed(pool, dry)
            return rated(replace(plan, why=str(reason)), source, flaky=reason.flaky)
        building = min(BUILDING, 3 * plan.cold_seconds) if reference.builds else 0.0
        pool.seconds = own or timeout or max(FLOOR, 4 * plan.warm_seconds) + building
        if gpu and mode != "fork":
            pool.limit(fitting(pool, jobs))
            plan = reusing(plan, source)
        if dry is not None and dry_started is not None:
            dry_started.result()
            plan = with_dry(plan, dry, source)
        return plan
    except BaseException:
        closed(pool, dry)
        starter.shutdown()
        raise
