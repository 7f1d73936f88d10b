"""Where the host fails by itself, behind launches: whether it got something of memory that nobody wrote.

If it did not, no candidate may. A candidate that has lost what writes a tensor reads whatever is in memory there, and
that often ends in the same words.
"""

from __future__ import annotations

from dataclasses import replace

from shrinkray_gpu.calibration.plan import Plan
from shrinkray_gpu.calibration.worker_lanes import fitting
from shrinkray_gpu.oracle.same import SameFaultOracle
from shrinkray_gpu.runner.inside.compare.comparison import UNWRITTEN

OF_HOST = ("python", "exit")
"""Phases of faults in which the host may decide by what it reads."""


def with_written(plan: Plan, source: str) -> Plan:
    """The plan whose oracle asks that of each candidate; the plan as it is where the original reads such memory itself,
    or ends in another way when it holds a pattern. The original runs once more, in a cold process."""
    oracle = plan.oracle
    if not isinstance(oracle, SameFaultOracle) or not oracle.strict or oracle.reference is None or oracle.needs.written:
        return plan
    is_flaky = plan.seen.faulted < plan.seen.runs
    if oracle.reference.fault.phase not in OF_HOST or oracle.needs.timing or is_flaky:
        return plan
    if not plan.reference.launches and "triton" not in source:  # Triton's interpreter tells of no launch
        return plan
    run = plan.pool.cold(source, wants=(*oracle.needs.wants, UNWRITTEN))
    if run.unwritten or not oracle.judge(run).faults:
        return plan
    guarding = oracle.guarding_memory()
    return replace(plan, seen=replace(plan.seen, oracle=guarding), pool=fitting(plan.pool, guarding) or plan.pool)
