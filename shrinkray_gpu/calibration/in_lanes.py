"""From cold processes to lanes: the cheapest in which the original shows its fault as it does there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shrinkray_gpu.calibration.dry_runs import codeless, gated, with_dry
from shrinkray_gpu.calibration.original import COLD_RUNS
from shrinkray_gpu.calibration.plan import Plan
from shrinkray_gpu.calibration.rate import rated
from shrinkray_gpu.calibration.standing import StepDown, fitting, in_a_fork, reusing
from shrinkray_gpu.calibration.worker_lanes import BUILDING, FLOOR, Lanes, closed
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Run


def in_lanes(
    plan: Plan, source: str, lanes: Lanes, colds: Sequence[Run], *, seconds: float | None, mode: str | None
) -> Plan:
    """The plan with the best of these lanes. `colds`: the runs it rests on; `seconds`: what a candidate may take by the
    user's or the oracle's word, otherwise a few times what the original took."""
    if not plan.oracle.needs.run:
        closed(lanes.warm, lanes.dry)
        return rated(replace(plan, why="the oracle runs the program itself"), source)
    if lanes.warm is None or lanes.started is None:
        plan = rated(plan, source)
        if lanes.dry is not None and lanes.dry_started is not None:
            lanes.dry_started.result()
            plan = gated(plan, lanes.dry, source)
            plan.pool.seconds = seconds or max(FLOOR, 4 * max(run.seconds for run in colds))
        return plan
    report = lanes.started.result()
    plan, pool = replace(plan, versions=report["versions"]), lanes.warm
    touched, spoilt = plan.gpu and bool(report["touched"]), plan.gpu and bool(report["spoilt"])
    try:
        if spoilt and not touched:  # by our own warming up
            pool.close()
            pool = _unprepared(lanes)
            touched = bool(lanes.starter.submit(pool.start, source).result()["touched"])
        return _standing(plan, source, lanes, pool, touched=touched, seconds=seconds, mode=mode)
    except BaseException:
        pool.close()
        raise


def _standing(
    cold: Plan, source: str, lanes: Lanes, pool: Pool, *, touched: bool, seconds: float | None, mode: str | None
) -> Plan:
    """With this pool, if its lanes stand for a cold process: contexts reused if that will do, dry runs before it."""
    try:
        plan = in_a_fork(cold, pool, source, touched=touched)
    except StepDown as reason:
        closed(pool, lanes.dry)
        return rated(replace(_as_often(cold, source), why=str(reason)), source, flaky=reason.flaky)
    building = min(BUILDING, 3 * plan.cold_seconds) if plan.reference.builds else 0.0
    pool.seconds = seconds or max(FLOOR, 4 * plan.warm_seconds) + building
    if pool.setup.arch is not None:
        return codeless(plan, pool, source)
    if plan.gpu and mode != "fork":
        pool.limit(fitting(pool, lanes.cold.jobs))
        plan = reusing(plan, source)
    if lanes.dry is not None and lanes.dry_started is not None:
        lanes.dry_started.result()
        plan = with_dry(plan, lanes.dry, source)
    return plan


def _as_often(plan: Plan, source: str) -> Plan:
    """The plan with as many cold runs as one without lanes rests on."""
    missing = COLD_RUNS - plan.runs if plan.gpu else 0
    if missing <= 0:
        return plan
    more = plan.tried(source, missing)
    return replace(plan, faulted=plan.faulted + more.sightings, runs=plan.runs + more.runs)


def _unprepared(lanes: Lanes) -> Pool:
    """The same lanes, whose worker warms up nothing of its own."""
    cold, setup = lanes.cold, replace(lanes.forking, prepare=False)
    return Pool(
        cold.script, setup, mode="fork", jobs=cold.jobs, seconds=cold.seconds, devices=cold.devices, extra=cold.extra
    )
