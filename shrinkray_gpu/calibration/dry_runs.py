"""Dry runs on the virtual GPU before the real ones, where the original gets there as far as it does on the real GPU."""

from __future__ import annotations

from dataclasses import replace

from shrinkray_gpu.calibration.mode import DryMode
from shrinkray_gpu.calibration.plan import Plan
from shrinkray_gpu.calibration.worker_lanes import BUILDING, FLOOR, builds
from shrinkray_gpu.oracle.driver_error import is_sure
from shrinkray_gpu.oracle.needs import UNASKED
from shrinkray_gpu.oracle.same import SameFaultOracle
from shrinkray_gpu.runner.inside.static.rules import ASKED
from shrinkray_gpu.runner.pool import Pool

SLOWER = 2.0
"""What a dry run may take of what a run in a lane does. One of a program that draws 2 GB of random numbers took 14 s
on the host's cores, and on the GPU less than one: nothing is saved by asking it first."""
CHANCE = 0.01
"""That a program which draws its luck anew in each dry run shows its fault in all of those that are made."""
RUNS = 20
"""Dry runs at most that are made of a flaky one."""


def with_build_gate(plan: Plan, dry: Pool, source: str, *, building: float = BUILDING) -> Plan:
    """Builds of CUDA C++ alone, on the virtual GPU, before the real run: for a program that does get through them.
    `building`: seconds that one may take."""
    run = dry.run(source)
    if run.trouble or run.timed_out or run.failure is not None or not run.builds:
        dry.close()
        return plan
    seconds = max(FLOOR, 4 * run.seconds) + building
    return _going_before(plan, dry, seconds, "candidates that do not compile are not run")


def with_dry(plan: Plan, dry: Pool, source: str) -> Plan:
    """Dry runs on a virtual GPU of the same architecture, if the original makes the same launches there, in time."""
    if not (builds(source) or plan.oracle.needs.timing):
        dry = dry.on(replace(dry.terms, seconds=max(FLOOR, SLOWER * plan.seen.warm_seconds)))
    run, following = dry.run(source), _following(dry) if plan.oracle.needs.compared else None
    # No candidate's launch may leave its tensors, unless the original's do.
    if following is not None and not run.trouble and not (held := following.run(source)).timed_out:
        if not any(launch.fault for launch in held.launches):
            dry, run = following, held
    if run.timed_out and not plan.oracle.needs.timing:  # that one asks how long it takes
        dry.close()
        took = f"over {dry.seconds:.0f} s, in a lane {plan.seen.warm_seconds:.1f} s"
        return plan.noted(f"no dry run: without a GPU the original takes {took}")
    if "_compile_kernel" in source and run.builds and not run.launches:  # what it compiles is there for the lanes
        return with_build_gate(plan, dry, source, building=min(BUILDING, 3 * plan.seen.cold_seconds))
    names = [launch.kernel for launch in run.launches]
    seen = [launch.kernel for launch in plan.reference.launches]
    if run.trouble or (names[: len(seen)] != seen and seen[: len(names)] != names) or not names:
        dry.close()
        what = run.trouble or (run.failure.text if run.failure else f"launches {names[:8]} instead of {seen[:8]}")
        return plan.noted(
            f"no dry run: on the virtual GPU the original does not reach the same launches ({what[:120]})"
        )
    note = "dry runs on the virtual GPU reach the same launches"
    excludes = plan.oracle.judge(run).faults and (plan.rate is None or _shows_always(plan, dry, source))
    predicts = excludes and plan.rate is None and (is_sure(run) or bool(plan.oracle.needs.sanitizer))
    if predicts and plan.oracle.needs.sanitizer:
        note += ", and the kernel's IR tells of which launches the sanitizer has a record"
    elif predicts:
        note += ", and the static rule tells the fault from the compiled kernel"
    elif excludes:
        note += ", and the kernel's IR tells which candidates cannot show the fault"
    if excludes and isinstance(plan.oracle, SameFaultOracle):
        plan = replace(plan, seen=replace(plan.seen, oracle=plan.oracle.with_causes(run)))
    plan = _going_before(plan, dry, max(FLOOR, 4 * run.seconds), note, predicts=predicts, excludes=excludes)
    return without_machine_code(plan, dry, source) if predicts else plan


def _following(dry: Pool) -> Pool:
    """The same lanes, where launches are held against the rules that go without saying."""
    rules = (ASKED + rule for rule in UNASKED.rules)
    return dry.serving(replace(dry.script, wants=tuple(sorted({*dry.script.wants, *rules}))), seconds=dry.seconds)


def _shows_always(plan: Plan, dry: Pool, source: str) -> bool:
    """Whether each dry run shows a fault that the device shows in some runs only. An index that nobody wrote is wrong
    each time by the kernel's IR. One that the program draws is drawn anew, and then a dry run excludes nothing."""
    assert plan.rate is not None
    runs, chance = 1, plan.rate.estimate
    while chance > CHANCE and runs < RUNS:
        if not plan.oracle.judge(dry.run(source)).faults:
            return False
        runs, chance = runs + 1, chance * plan.rate.estimate
    return True


def _going_before(
    plan: Plan, dry: Pool, seconds: float, note: str, *, predicts: bool = False, excludes: bool = False
) -> Plan:
    mode = replace(plan.mode, dry=DryMode(replace(dry.terms, seconds=seconds), predicts, excludes))
    return replace(plan, dry=dry).in_mode(mode).noted(note)


def without_machine_code(plan: Plan, virtual: Pool, source: str) -> Plan:
    """Candidates are compiled to LLVM's IR only, if the original shows its fault in such a run of a virtual GPU."""
    if plan.rate is not None or plan.oracle.needs.twins:
        return plan
    shows = plan.oracle.judge(virtual.run(source, machine_code=False)).faults
    return plan.in_mode(replace(plan.mode, machine_code=not shows))
