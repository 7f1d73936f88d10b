"""How often a flaky original shows its fault, measured where candidates will run."""

from __future__ import annotations

from dataclasses import replace

from shrinkray_gpu.calibration.plan import Plan, run_batches
from shrinkray_gpu.errors import NotReproduced
from shrinkray_gpu.judging.repetition import measure


def with_rate(plan: Plan, source: str, *, flaky: bool = False) -> Plan:
    """The plan with the rate at which its pool shows the fault, if it is (or proves to be) a flaky one."""
    if not flaky and plan.seen.faulted == plan.seen.runs:
        return plan
    rate = measure(run_batches(plan.oracle, plan.pool, source))
    if not rate.sightings and plan.pool.mode == "cold":
        raise NotReproduced(
            f"{plan.pool.script.called} showed the fault at first and in none of {rate.runs} further runs: too rare "
            "to be reduced. Look for what makes it likelier (load beside it, other inputs, a loop around it)"
        )
    plan = replace(plan, seen=replace(plan.seen, faulted=rate.sightings, runs=rate.runs))
    return plan.in_mode(replace(plan.mode, rate=rate)).noted(f"flaky: {rate} fault")
