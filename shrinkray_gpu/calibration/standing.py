"""Which modes stand for a cold process: those in which the original shows its fault as it does there.

A fork of a worker and a context that another program used are much cheaper, and may hide a fault, or make a rare one
rarer. Lanes that do so are stepped down from.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from math import ceil

from shrinkray_gpu.calibration.missed import ALIKE, several, verdict_on
from shrinkray_gpu.calibration.plan import Plan
from shrinkray_gpu.calibration.rate import with_rate
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle.statistics import Rate, by_chance
from shrinkray_gpu.runner.fence import advice, refused_or_written
from shrinkray_gpu.runner.pool import Pool

CONTEXT_BYTES = 600 << 20
"""Device memory of a bare context with Triton's driver, rounded up."""
CHECKS = 5
"""Lane runs more of a program that always faulted so far."""
RARER = 0.1
"""Reused contexts that show a fault more rarely than fresh ones, beyond what chance does this often, are not used."""
AT_ONCE = 2
"""Lane runs more of one that hangs, at once, after a first with nothing beside it: each takes its whole limit."""
LESS = 0.01
"""Lanes that show a fault so rarely that chance would do it with no more than this do not stand for cold processes."""
CONTEXTS = 5.0
"""Contexts that a host makes a second, however many lanes ask. In benchmarks/results/fresh_contexts_h100.json: of tries
that end well 2.5, 4.6, 4.9 and 5.3 for 1, 2, 4 and 8 lanes, of those that fault 2.0, 3.1, 3.1 and 3.1. A second GPU
hardly adds to them: 4.4 and 4.9 in benchmarks/results/several_gpus_h200.json."""

LANE = 20.0
"""Seconds that the original may take in a lane, or ten times as many as in a cold process."""


class ModeRejected(Exception):
    """This mode does not stand for a cold process, and why; and whether the fault proved to be flaky meanwhile."""

    def __init__(self, why: str, *, flaky: bool = False) -> None:
        super().__init__(why)
        self.flaky = flaky


def in_a_fork(plan: Plan, pool: Pool, source: str, *, touched: bool) -> Plan:
    """Whether the fault shows in lanes as in cold processes; and if it is flaky, how often it does."""
    if touched:
        raise ModeRejected(
            "an import at the top of the script starts CUDA, and a child forked after that cannot use it"
        )
    try:
        return _as_cold(plan, pool, source)
    except ModeRejected:
        if not pool.terms.narrow:
            raise
    # One hardware queue may be what keeps the fault away: work in several streams.
    pool = pool.on(replace(pool.terms, narrow=False))
    plan.starter.submit(pool.start, source).result()
    return _as_cold(plan, pool, source)


def _as_cold(plan: Plan, pool: Pool, source: str) -> Plan:
    """The plan for this pool. Raises ModeRejected where its lanes do not show the fault as cold processes do."""
    asked = pool
    if not plan.oracle.needs.timing:  # it is known by now how long it takes
        asked = pool.on(replace(pool.terms, seconds=min(pool.seconds, max(LANE, 10 * plan.seen.cold_seconds))))
        if plan.gpu and pool.hosts is None:
            with suppress(UsageError):  # of which the run tells
                asked.start(source, lanes=1 + CHECKS)  # contexts of the further runs come up beside the first
    runs = [asked.run(source, fresh=True)]
    if runs[0].timed_out and not plan.oracle.needs.timing:
        raise ModeRejected(f"in a lane it was still running after {runs[0].seconds:.0f} s")
    if plan.oracle.needs.timing:
        runs += several(pool.beside(lanes_that_fit(pool, AT_ONCE)), source, AT_ONCE) if plan.gpu else []
    else:
        runs += several(asked, source, CHECKS)
    verdicts = [verdict_on(plan.oracle, source, pool.script, run) for run in runs]
    showing = [run for run, verdict in zip(runs, verdicts) if verdict.faults]
    lane, cold = Rate(len(showing), len(runs)), Rate(plan.seen.faulted, plan.seen.runs)
    mode = replace(plan.mode, name=pool.mode, terms=pool.terms)
    if lane.sightings == lane.runs and cold.sightings == cold.runs:
        found = replace(plan.seen, warm_seconds=max(run.seconds for run in showing or runs))
        if plan.oracle.needs.timing:
            found = replace(found, faulted=cold.sightings + lane.sightings, runs=cold.runs + lane.runs)
        mode = replace(mode, why="the fault shows in a forked child as in a cold process")
        return replace(plan, seen=found, pool=pool).in_mode(mode)
    told = f"in a forked worker the original does not show its fault ({verdicts[0].why})"
    if fenced := advice(refused_or_written(runs[0], pool.script.cwd, plan.reference)):
        told += f": {fenced}"
    if not showing and cold.sightings == cold.runs:
        if cold.runs < ALIKE:
            cold += plan.measure_rate(source, ALIKE - cold.runs)
        if cold.sightings == cold.runs:
            raise ModeRejected(told)
    mode = replace(mode, terms=replace(pool.terms, jobs=lanes_that_fit(pool, pool.jobs)))
    found = replace(plan.seen, warm_seconds=max(run.seconds for run in runs))
    plan = with_rate(replace(plan, seen=found, pool=pool).in_mode(mode), source, flaky=True)
    assert plan.rate is not None
    if not plan.rate.sightings:
        raise ModeRejected(told, flaky=True)
    if by_chance(plan.rate, cold) < LESS:
        why = f"in forked workers the fault shows too rarely: {plan.rate}, and {cold} in cold processes"
        raise ModeRejected(why, flaky=True)
    why = "the fault shows in forked children as in cold processes, as often as chance has it"
    return plan.in_mode(replace(plan.mode, why=why))


def with_reuse(plan: Plan, source: str) -> Plan:
    """Whether contexts may be reused: the fault must show in one in which another, harmless program ran before."""
    harmless = "import torch\nx = torch.ones(8, device='cuda')\ntorch.cuda.synchronize()\n"
    before = plan.pool.retired
    plan.pool.run(harmless, fresh=True)
    run = plan.pool.run(source)
    again = [run]
    if plan.rate is not None:  # each fault ends a context, and each clean run leaves one for the next
        for _ in range(-(-60 // plan.pool.jobs)):
            with ThreadPoolExecutor(plan.pool.jobs) as threads:
                again += threads.map(lambda _: plan.pool.run(source), range(plan.pool.jobs))
    reused = [plan.oracle.judge(run).faults for run in again if run.mode == "warm"]
    if plan.rate is None and reused == [True]:
        why = "the fault shows in a context that passed another program before, as in a cold process"
        return plan.in_mode(replace(plan.mode, name="warm", why=why))
    if plan.rate is not None and len(reused) >= 20:
        warm = Rate(sum(reused), len(reused))
        if by_chance(warm, plan.rate) >= RARER:
            why = f"the fault shows as often in contexts that other programs used before ({warm})"
            return plan.in_mode(replace(plan.mode, name="warm", why=why))
    jobs = min(plan.pool.jobs, max(len(plan.pool.groups), _of_use(plan.seen.warm_seconds)))
    terms = replace(plan.mode.terms, jobs=jobs, reuse=False)
    why = "the fault shows in a fresh context only, not in one that another program used before"
    if not reused:
        why = f"no context could be used again ({next(filter(None, plan.pool.retired - before), 'none was there')})"
    return plan.in_mode(replace(plan.mode, why=why, terms=terms))


def _of_use(seconds: float) -> int:
    """Lanes of a host for tries of so many seconds that take a context each. With more of them each try takes longer,
    and no more are done; one that is compiled for five seconds leaves the driver to others."""
    return max(2, ceil(CONTEXTS * seconds)) + 1


def lanes_that_fit(pool: Pool, jobs: int) -> int:
    """As many lanes as device memory holds, by what the original took."""
    free = pool.free_bytes
    if not free:
        return max(1, jobs)
    each = int(0.45 * free / (pool.peak + CONTEXT_BYTES))  # each lane has a spare coming up
    return max(1, min(jobs, len(pool.groups) * each))
