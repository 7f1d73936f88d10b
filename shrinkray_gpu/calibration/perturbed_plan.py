"""A flaky original with the perturbation in place that makes its fault likelier, measured in the lanes of its plan."""

from __future__ import annotations

from dataclasses import replace

from shrinkray_gpu.calibration import perturbation
from shrinkray_gpu.calibration.dry_runs import with_dry
from shrinkray_gpu.calibration.plan import Plan, asking
from shrinkray_gpu.judging.repetition import measure


def perturbed(plan: Plan, source: str, chosen: perturbation.Variant | None = None) -> Plan:
    """The plan for a flaky original with the perturbation in place that raises its rate, if one does: see
    `Plan.variant`, whose text is then the program to reduce. `chosen`: the one that a killed reduction chose."""
    if plan.rate is None:
        return plan
    variant = chosen or perturbation.choose(source, plan.rate, plan.tried)
    if variant is None:
        if not perturbation.variants(source):
            return plan
        return replace(plan, notes=(*plan.notes, "no perturbation makes the fault likelier"))
    if plan.pool.mode != "cold":
        plan.starter.submit(plan.pool.start, variant.text).result()
    rate = measure(asking(plan.oracle, plan.pool, variant.text))
    if not rate.sightings:
        return plan
    variant = chosen or variant.told(plan.rate, rate)
    plan.pool.reuse = False  # most perturbations replace functions of torch's or Triton's: such a context is not clean
    mode = "fork" if plan.mode == "warm" else plan.mode
    notes = tuple(note for note in plan.notes if not note.startswith("flaky: "))
    notes = (*notes, f"flaky: {plan.rate} fault; {variant.note}: {rate} do")
    plan = replace(plan, variant=variant, rate=rate, mode=mode, notes=notes, faulted=rate.sightings, runs=rate.runs)
    if plan.dry is not None:
        dry, plan = plan.dry, replace(plan, dry=None, dry_predicts=False)
        plan.starter.submit(dry.start, variant.text).result()
        plan = with_dry(plan, dry, variant.text)
    return plan
