"""A flaky original with the perturbation in place that makes its fault likelier, measured in the lanes of its plan."""

from __future__ import annotations

from dataclasses import replace

from shrinkray_gpu.calibration import perturbation
from shrinkray_gpu.calibration.dry_runs import with_dry
from shrinkray_gpu.calibration.plan import Plan, run_batches
from shrinkray_gpu.judging.repetition import measure


def with_perturbation(plan: Plan, source: str, chosen: perturbation.Perturbation | None = None) -> Plan:
    """The plan for a flaky original with the perturbation in place that raises its rate, if one does: see
    `Mode.variant`, whose text is then the program to reduce. `chosen`: the one that a killed reduction chose."""
    if plan.rate is None:
        return plan
    variant = chosen or perturbation.choose(source, plan.rate, plan.measure_rate)
    if variant is None:
        if not perturbation.variants(source):
            return plan
        return plan.noted("no perturbation makes the fault likelier")
    if plan.pool.mode != "cold":
        plan.starter.submit(plan.pool.start, variant.text).result()
    rate = measure(run_batches(plan.oracle, plan.pool, variant.text))
    if not rate.sightings:
        return plan
    variant = chosen or variant.with_rates(plan.rate, rate)
    notes = tuple(note for note in plan.mode.notes if not note.startswith("flaky: "))
    mode = replace(
        plan.mode,
        name="fork" if plan.mode.name == "warm" else plan.mode.name,
        # Most perturbations replace functions of torch's or Triton's: such a context is not clean.
        terms=replace(plan.mode.terms, reuse=False),
        dry=None,
        rate=rate,
        variant=variant,
        notes=(*notes, f"flaky: {plan.rate} fault; {variant.note}: {rate} do"),
    )
    dry = plan.dry
    plan = replace(plan, seen=replace(plan.seen, faulted=rate.sightings, runs=rate.runs)).in_mode(mode)
    if dry is not None:
        plan.starter.submit(dry.start, variant.text).result()
        plan = with_dry(plan, dry, variant.text)
    return plan.measured()
