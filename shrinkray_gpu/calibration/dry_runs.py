"""Dry runs on the virtual GPU before the real ones, where the original gets there as far as it does on the real GPU."""

from __future__ import annotations

from dataclasses import replace

from shrinkray_gpu.calibration.plan import Plan
from shrinkray_gpu.calibration.worker_lanes import BUILDING, FLOOR, builds
from shrinkray_gpu.runner.pool import Pool

SLOWER = 2.0
"""What a dry run may take of what a run in a lane does. One of a program that draws 2 GB of random numbers took 14 s
on the host's cores, and on the GPU less than one: nothing is saved by asking it first."""


def gated(plan: Plan, dry: Pool, source: str, *, building: float = BUILDING) -> Plan:
    """Builds of CUDA C++ alone, on the virtual GPU, before the real run: for a program that does get through them.
    `building`: seconds that one may take."""
    run = dry.run(source)
    if run.trouble or run.timed_out or run.failure is not None or not run.builds:
        dry.close()
        return plan
    dry.seconds = max(FLOOR, 4 * run.seconds) + building
    return replace(plan, dry=dry, notes=(*plan.notes, "candidates that do not compile are not run"))


def with_dry(plan: Plan, dry: Pool, source: str) -> Plan:
    """Dry runs on a virtual GPU of the same architecture, if the original makes the same launches there, in time."""
    if not (builds(source) or plan.oracle.needs.timing):
        dry.seconds = max(FLOOR, SLOWER * plan.warm_seconds)
    run = dry.run(source)
    if run.timed_out and not plan.oracle.needs.timing:  # that one asks how long it takes
        dry.close()
        took = f"over {dry.seconds:.0f} s, in a lane {plan.warm_seconds:.1f} s"
        return replace(plan, notes=(*plan.notes, f"no dry run: without a GPU the original takes {took}"))
    if "_compile_kernel" in source and run.builds and not run.launches:  # what it compiles is there for the lanes
        return gated(plan, dry, source, building=min(BUILDING, 3 * plan.cold_seconds))
    names = [launch.kernel for launch in run.launches]
    seen = [launch.kernel for launch in plan.reference.launches]
    if run.trouble or (names[: len(seen)] != seen and seen[: len(names)] != names) or not names:
        dry.close()
        what = run.trouble or (run.failure.text if run.failure else f"launches {names[:8]} instead of {seen[:8]}")
        note = f"no dry run: on the virtual GPU the original does not reach the same launches ({what[:120]})"
        return replace(plan, notes=(*plan.notes, note))
    dry.seconds = max(FLOOR, 4 * run.seconds)
    note = "dry runs on the virtual GPU reach the same launches"
    predicts = plan.oracle.judge(run).faults
    if predicts:
        note += ", and the static rule tells the fault from the compiled kernel"
    plan = replace(plan, dry=dry, dry_predicts=predicts, notes=(*plan.notes, note))
    return codeless(plan, dry, source) if predicts else plan


def codeless(plan: Plan, virtual: Pool, source: str) -> Plan:
    """Candidates are compiled to LLVM's IR only, if the original shows its fault in such a run of a virtual GPU."""
    if plan.rate is not None or plan.oracle.needs.twins:
        return plan
    return replace(plan, machine_code=not plan.oracle.judge(virtual.run(source, machine_code=False)).faults)
