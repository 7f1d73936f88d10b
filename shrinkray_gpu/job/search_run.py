"""The search of one reduction: the engine with this plan's test, checks and prices."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from shrinkray_gpu import calibration, lift
from shrinkray_gpu.calibration import perturbation
from shrinkray_gpu.errors import if_it_helps
from shrinkray_gpu.evidence.other_faults import OtherFaults
from shrinkray_gpu.job.ready import Ready
from shrinkray_gpu.judging.ahead import Ahead
from shrinkray_gpu.judging.confirming import ConfirmingRuns
from shrinkray_gpu.judging.repetition import FlakyTest
from shrinkray_gpu.judging.tiered_test import TieredTest
from shrinkray_gpu.options import Options, Say
from shrinkray_gpu.oracle import Oracle
from shrinkray_gpu.oracle.same import SameFaultOracle
from shrinkray_gpu.passes import order_for
from shrinkray_gpu.passes.host.observed import instrument
from shrinkray_gpu.passes.kernel.typed import watchable
from shrinkray_gpu.reduction.checks.check_plan import CheckPlan, ConfirmationPlan, ControlPlan, FingerprintPlan
from shrinkray_gpu.reduction.checks.question import StartCheck
from shrinkray_gpu.reduction.course import Course
from shrinkray_gpu.reduction.engine import reduce_program
from shrinkray_gpu.reduction.extent import Extent
from shrinkray_gpu.reduction.for_the_reader import with_layout
from shrinkray_gpu.reduction.interestingness import InterestingnessTest
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.outcome import Listeners, ProgressEvent, Reduction
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rewrites import Rewrites
from shrinkray_gpu.source.libraries import is_plain

EAGER = 12.0
"""What a faulting try costs on a GPU against a passing one: a context, of which a device makes 2.4 a second."""
EAGER_FRESH = 1.6
"""The same where each try takes a context anyway (benchmarks/results/fresh_contexts_h100.json: 4.9 against 3.1)."""
EXCHANGING = ("expressions", "standins", "fillings", "numbers", "accesses")
"""Passes that put another value in the place of one. Only what comes of it tells whether that is the same."""


def search(
    ready: Ready,
    original: Program,
    options: Options,
    journal: Journal,
    finds: OtherFaults,
    *,
    say: Say,
    progress: Callable[[ProgressEvent, TieredTest], None],
    stop: Callable[[], bool],
) -> Reduction:
    plan, test, checks, repeats = ready.plan, ready.test, ready.checks, ready.test.policy.repeats
    width = journal.header["width"]
    # Each try takes a context then, and most of what is begun ahead is never asked for.
    scarce = plan.gpu and plan.mode.name == "fork" and not plan.predicts
    asked: InterestingnessTest = Ahead(test, scarce=scarce) if options.ahead else test
    history = plan.gpu and plan.mode.name != "cold" and checks is not None and checks.controls.history
    again = ConfirmingRuns(test, timed=history)
    if ready.start.lifted:  # the best so far, before anything is tried
        journal.begin_with(ready.program, size=ready.program.size, most=ready.most)
    # Beforehand the fault did not show, or in some runs only: then it takes the search's own judge to tell.
    untried = not ready.start.alone and (ready.start.reference is None or plan.rate is not None)
    may_lift = untried and plan.oracle.needs.run and "lift" not in options.skip
    found = reduce_program(
        ready.program,
        passes=order_for(
            ready.program,
            one_launch=ready.start.alone and not ready.start.bare,
            checked=bool(plan.oracle.needs.compared),
        ),
        test=asked,
        journal=journal,
        checks=CheckPlan(
            ConfirmationPlan(
                cold=again.confirm if plan.mode.name != "cold" or repeats else None,
                probe=_probe(plan, again, repeats, history),
                interval=_checkpoint(plan),
                wary=history,
                doubted=test.doubt_reused_contexts if plan.gpu else None,
            ),
            ControlPlan(checks.control_verdict, lag=width) if checks else None,
            FingerprintPlan(checks.fingerprint_verdict, first=_first_fingerprint(plan), drifted=checks.tighten_after)
            if checks and checks.takes_fingerprints
            else None,
        ),
        course=Course(
            seed=journal.header["seed"],
            width=width,
            eager=_eager(plan, repeats),
            flaky=plan.rate is not None,
            keep=sorted(options.keep),
            skip={*options.skip, *(EXCHANGING if _is_blind(plan.oracle) else ())},
            stop=stop,
            deadline=time.monotonic() + options.max_time if options.max_time else None,
            fast=options.fast,
        ),
        rewrites=Rewrites(
            lifts=_lifts(ready.program, test, plan, say) if may_lift else None,
            # A test of the user's may run it in a way of its own; of host Python our run is a hint all the same.
            instrument=_watched if plan.oracle.needs.run or is_plain(ready.program) else None,
            layout=ready.laid_out,
        ),
        report=Listeners(
            progress=lambda event: progress(event, test),
            other_fault=lambda candidate, verdict: finds.consider(candidate, verdict.other) if verdict.other else None,
        ),
    )
    return within(found, ready, original)


def within(reduction: Reduction, ready: Ready, original: Program) -> Reduction:
    """The same, with the last program on the way that is no larger than what was given; with that itself, where there
    is none: what marks and waits add may be more than a short search takes away."""
    for each in (reduction.program, *reversed(reduction.line)):
        program = with_layout(ready.laid_out, each)
        if ready.most.holds(Extent.of(ready.shown(program.text))):
            return replace(reduction, program=program)
    return replace(reduction, program=original)


def _watched(program: Program) -> Program:
    return instrument(program, watchable(program))


def _probe(
    plan: calibration.Plan, again: ConfirmingRuns, repeats: FlakyTest | None, history: bool
) -> StartCheck | None:
    """What confirms an accepted program quickly, beside the search; None where that takes a cold process."""
    if history:
        return again.find_sighting if repeats else None
    if plan.predicts or (repeats and plan.gpu) or again.test.policy.brief:
        return again.probe
    if plan.gpu and plan.mode.name != "cold" and plan.oracle.needs.run and not plan.oracle.needs.timing:
        return again.steady
    return None


def _checkpoint(plan: calibration.Plan) -> int:
    """Candidates between two confirmations, so many that a confirmation is there when it is looked at."""
    if plan.predicts:
        return 50  # in a lane: half a second
    if plan.gpu:
        return 100  # in some lanes and a cold process: five to ten
    return 1 << 30  # a cold process takes seconds of the few cores that judge the candidates: one at the end


def _first_fingerprint(plan: calibration.Plan) -> int:
    """Candidates before the first full fingerprint: on a GPU it takes some ten seconds in a process of its own, two in
    a lane, which is that of a few tries in fresh contexts. Where a dry run holds each candidate against the original's
    cause, hardly one drifts, and ten seconds are hundreds of candidates."""
    if plan.predicts or (isinstance(plan.oracle, SameFaultOracle) and plan.oracle.causes is not None):
        return 300
    return {"cold": 100, "fork": 25}.get(plan.mode.name, 50) if plan.gpu else 50


def _eager(plan: calibration.Plan, repeats: FlakyTest | None) -> float:
    """What a faulting try costs against a passing one."""
    price = 1.0
    if plan.gpu and not plan.predicts:
        price = EAGER if plan.mode.name == "warm" else EAGER_FRESH
    return repeats.eager(price) if repeats else price


def _lifts(program: Program, test: TieredTest, plan: calibration.Plan, say: Say) -> Callable[[], Sequence[str]]:
    """Runs the original once more and makes scripts of its faulty launch. Asked once, by the engine."""

    variant = plan.mode.variant

    def lifts() -> Sequence[str]:
        return if_it_helps(scripts, (), "lifting", say)

    def scripts() -> Sequence[str]:
        run = test.capture(program)
        for obstacle in lift.obstacles(run):
            say(f"a launch could not be lifted out of the program: {obstacle}")
        texts = lift.candidates(run)
        return [perturbation.apply_perturbation(variant, text) for text in texts] if variant else texts

    return lifts


def _is_blind(oracle: Oracle) -> bool:
    return isinstance(oracle, SameFaultOracle) and oracle.comparison is not None and oracle.comparison.is_blind
