"""Which parts of the fence hide the fault of a program: its candidates run without these.

A program of several processes that find each other by TCP shows nothing where that is refused.
"""

from __future__ import annotations

from dataclasses import replace

from shrinkray_gpu.calibration.missed import verdict_on
from shrinkray_gpu.calibration.plan import Plan
from shrinkray_gpu.runner.fence import OPENED
from shrinkray_gpu.runner.pool import Pool

AGAIN = 3
"""Runs of a fault that is flaky, or may be: one of them must show it."""


def hiding(plan: Plan, source: str) -> tuple[str, ...]:
    """The parts with which the program does not show its fault in a process of its own, and without which it does. None
    where it shows it in the whole fence, or nowhere but outside of it: what may be written is the user's to say."""
    pool = plan.pool
    if not pool.setup.confine or pool.setup.left_open:
        return ()
    if pool.mode != "cold":
        pool = pool.on(replace(pool.terms, mode="cold"))
    # As a candidate: its own text would run without a fence.
    pool = pool.serving(replace(pool.script, original=""), seconds=pool.seconds)
    runs = 1 if plan.seen.faulted == plan.seen.runs else AGAIN
    if _shows(plan, pool, source, (), runs) or set(OPENED).isdisjoint(pool.fence or ()):
        return ()
    if not _shows(plan, pool, source, OPENED, AGAIN):
        return ()
    parts = OPENED
    for part in OPENED:
        fewer = tuple(one for one in parts if one != part)
        if fewer and _shows(plan, pool, source, fewer, runs):
            parts = fewer
    return parts


def _shows(plan: Plan, pool: Pool, source: str, parts: tuple[str, ...], runs: int) -> bool:
    pool = pool.leaving_open(parts)
    return any(verdict_on(plan.oracle, source, pool.script, pool.cold(source)).faults for _ in range(runs))
