"""Which parts of the fence hide the fault of a program: its candidates run without these.

A program of several processes that find each other by TCP shows nothing where that is refused.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from shrinkray_gpu.calibration.missed import verdict_on
from shrinkray_gpu.calibration.plan import Plan
from shrinkray_gpu.runner.fence import OPENED
from shrinkray_gpu.runner.pool import Pool

AGAIN = 3
"""Runs of a fault that is flaky, or may be: one of them must show it."""
SOON = 15.0
"""Seconds after which a run with parts of the fence counts as one that shows nothing; or four times the original's. One
that wrongly does costs a part of the fence, and no verdict."""


def hiding(plan: Plan, source: str) -> tuple[str, ...]:
    """The parts with which the program does not show its fault in a process of its own, and without which it does. None
    where it shows it in the whole fence, or nowhere but outside of it: what may be written is the user's to say."""
    pool = plan.pool
    if not pool.setup.confine or pool.setup.left_open:
        return ()
    # As a candidate: its own text would run without a fence. What waits for ever in the fence is given up soon.
    seconds = min(pool.seconds + pool.extra, max(SOON, 4 * plan.seen.cold_seconds))
    pool = pool.on(replace(pool.terms, mode="cold", extra=0.0))
    pool = pool.serving(replace(pool.script, original=""), seconds=seconds)
    runs = 1 if plan.seen.faulted == plan.seen.runs else AGAIN
    if _shows(plan, pool, source, (), runs) or set(OPENED).isdisjoint(pool.fence or ()):
        return ()
    without = [tuple(one for one in OPENED if one != part) for part in OPENED]
    with ThreadPoolExecutor(1 + len(without)) as threads:
        fewer = threads.map(lambda parts: _shows(plan, pool, source, parts, runs), without)
        if not _shows(plan, pool, source, OPENED, AGAIN):
            return ()
        needed = tuple(part for part, shows in zip(OPENED, fewer) if not shows)
    return needed if needed and _shows(plan, pool, source, needed, runs) else OPENED


def _shows(plan: Plan, pool: Pool, source: str, parts: tuple[str, ...], runs: int) -> bool:
    pool = pool.leaving_open(parts)
    return any(verdict_on(plan.oracle, source, pool.script, pool.cold(source)).faults for _ in range(runs))
