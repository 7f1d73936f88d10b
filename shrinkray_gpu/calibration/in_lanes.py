"""From cold processes to lanes: the cheapest in which the original shows its fault as it does there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shrinkray_gpu.calibration.dry_runs import with_build_gate, with_dry, without_machine_code
from shrinkray_gpu.calibration.fence_parts import hiding
from shrinkray_gpu.calibration.original import COLD_RUNS
from shrinkray_gpu.calibration.plan import Plan
from shrinkray_gpu.calibration.rate import with_rate
from shrinkray_gpu.calibration.standing import ModeRejected, in_a_fork, lanes_that_fit, with_reuse
from shrinkray_gpu.calibration.worker_lanes import BUILDING, FLOOR, LaneSet, builds, close_pools
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Run


def in_lanes(
    plan: Plan, source: str, lanes: LaneSet, colds: Sequence[Run], *, seconds: float | None, mode: str | None
) -> Plan:
    """The plan with the best of these lanes. `colds`: the runs it rests on; `seconds`: what a candidate may take by the
    user's or the oracle's word, otherwise a few times what the original took."""
    if not plan.oracle.needs.run:
        close_pools(lanes.warm, lanes.dry)
        return with_rate(_because(plan, "the oracle runs the program itself"), source)
    if lanes.warm is None or lanes.started is None:
        plan = with_rate(_leaving_open(plan, hiding(plan, source)), source)
        if lanes.dry is not None and lanes.dry_started is not None:
            lanes.dry_started.result()
            plan = (with_build_gate if builds(source) else with_dry)(plan, lanes.dry, source)
            plan = _within(plan, seconds or max(FLOOR, 4 * max(run.seconds for run in colds)))
        return plan
    report = lanes.started.result()
    plan, pool = replace(plan, seen=replace(plan.seen, versions=report["versions"])), lanes.warm
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
    cold: Plan, source: str, lanes: LaneSet, pool: Pool, *, touched: bool, seconds: float | None, mode: str | None
) -> Plan:
    """With this pool, if its lanes stand for a cold process: contexts reused if that will do, dry runs before it."""
    try:
        plan = in_a_fork(cold, pool, source, touched=touched)
    except ModeRejected as reason:
        if parts := hiding(cold, source):
            cold, pool = _leaving_open(cold, parts), pool.leaving_open(parts)
            if lanes.dry is not None:
                lanes = replace(lanes, dry=lanes.dry.leaving_open(parts))
            return _standing(cold, source, lanes, pool, touched=touched, seconds=seconds, mode=mode)
        close_pools(pool, lanes.dry)
        return with_rate(_because(_as_often(cold, source), str(reason)), source, flaky=reason.flaky)
    # In a lane the original's kernels were compiled before. Most candidates of an oracle on code have others.
    compiling = plan.reference.builds or plan.oracle.needs.elsewhere
    building = min(BUILDING, 3 * plan.seen.cold_seconds) if compiling else 0.0
    plan = _within(plan, seconds or max(FLOOR, 4 * plan.seen.warm_seconds) + building)
    if pool.setup.arch is not None:
        return without_machine_code(plan, plan.pool, source)
    if plan.gpu and mode != "fork":
        fit = lanes.cold.jobs if pool.hosts is not None else lanes_that_fit(pool, lanes.cold.jobs)
        terms = replace(plan.mode.terms, jobs=fit)
        plan = with_reuse(plan.in_mode(replace(plan.mode, terms=terms)), source)
    if lanes.dry is not None and lanes.dry_started is not None:
        lanes.dry_started.result()
        plan = with_dry(plan, lanes.dry, source)
    return plan


def _as_often(plan: Plan, source: str) -> Plan:
    """The plan with as many cold runs as one without lanes rests on."""
    missing = COLD_RUNS - plan.seen.runs if plan.gpu else 0
    if missing <= 0:
        return plan
    more = plan.measure_rate(source, missing)
    seen = replace(plan.seen, faulted=plan.seen.faulted + more.sightings, runs=plan.seen.runs + more.runs)
    return replace(plan, seen=seen)


def _leaving_open(plan: Plan, parts: tuple[str, ...]) -> Plan:
    return replace(plan, pool=plan.pool.leaving_open(parts)) if parts else plan


def _because(plan: Plan, why: str) -> Plan:
    return plan.in_mode(replace(plan.mode, why=why))


def _within(plan: Plan, seconds: float) -> Plan:
    return plan.in_mode(replace(plan.mode, terms=replace(plan.mode.terms, seconds=seconds)))


def _unprepared(lanes: LaneSet) -> Pool:
    """The same lanes, whose worker warms up nothing of its own."""
    cold, setup = lanes.cold, replace(lanes.forking, prepare=False)
    return Pool(
        cold.script,
        setup,
        mode="fork",
        jobs=cold.jobs,
        seconds=cold.seconds,
        extra=cold.extra,
        groups=cold.groups,
        hosts=cold.hosts,
    )
