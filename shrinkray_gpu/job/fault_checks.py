"""The slippage checks of one reduction: which controls and instruments, and how often a flaky fault asks them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, replace
from functools import partial

from shrinkray_gpu import calibration
from shrinkray_gpu.calibration.standing import lanes_that_fit
from shrinkray_gpu.evidence import dump_runs
from shrinkray_gpu.judging.repetition import FlakyTest
from shrinkray_gpu.judging.tiered_test import TieredTest
from shrinkray_gpu.options import Options, jobs_of
from shrinkray_gpu.oracle import Fault
from shrinkray_gpu.oracle.fault import Reference
from shrinkray_gpu.oracle.same import SameFaultOracle
from shrinkray_gpu.oracle.statistics import clean_runs
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.inside.gpu_target import gpu_target
from shrinkray_gpu.runner.knob_settings import KnobSetting
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.same_fault import controls
from shrinkray_gpu.same_fault.active_controls import ActiveControls, ControlTrials
from shrinkray_gpu.same_fault.argument_controls import of_arguments, of_front_end, of_gates, of_switches
from shrinkray_gpu.same_fault.checkpoints import Checkpoints
from shrinkray_gpu.same_fault.fingerprints import Fingerprints
from shrinkray_gpu.same_fault.result_controls import kernels_of, of_results
from shrinkray_gpu.same_fault.slippage_checks import SlippageChecks
from shrinkray_gpu.same_fault.stage_controls import of_stages

LOOKS = 8
"""Times that the instruments look at a flaky fault."""
INTERPRETED = 10.0
"""Seconds that the interpreter has for a program, unless the user named that control: each fingerprint waits for it. A
grid of 132 blocks with a loop of 512 steps took a minute and a half, while the whole search took 18 s."""


def slippage_checks(
    original: Program,
    plan: calibration.Plan,
    test: TieredTest,
    named: Sequence[controls.Control],
    options: Options,
    known: Fault | None = None,
    gates: Sequence[str] = (),
) -> SlippageChecks:
    """The checks of this reduction: they begin with the original at once, beside the search. `known`: what the
    instruments said of the user's own program, where that was lifted. `gates`: switches that led there."""
    reference = plan.oracle.reference if isinstance(plan.oracle, SameFaultOracle) else None
    flaky = test.policy.repeats is not None
    standard = (*of_gates(gates), *_standard(original, plan, reference, known))
    active = ActiveControls(
        original,
        _trying(plan, test, named, len(standard), jobs_of(options)),
        chosen=named,
        standard=standard,
        lanes=plan.pool.jobs,
    )
    quick = dump_runs.in_lanes(plan.pool) if plan.gpu else None
    device = reference is not None and reference.fault.phase == "device"
    # Of a flaky fault one look may have seen nothing but the words.
    known = known if known is not None and (known.instruction or not flaky) else None
    fingerprints = Fingerprints(
        original.text,
        reference,
        # What the instruments add to a compiler's or Python's own words is nothing.
        examine=_look(plan, test, quick) if device and (plan.gpu or options.arch) else None,
        known=known,
        prepare=partial(quick.prepare, plan.reference.peak) if quick is not None and device else None,
        lanes=plan.pool.jobs,
    )
    by_code = known is not None and bool(known.instruction) and not flaky and plan.pool.setup.arch is None
    return SlippageChecks(test, active, fingerprints, by_code=by_code)


def _standard(
    original: Program, plan: calibration.Plan, reference: Reference | None, known: Fault | None
) -> tuple[controls.Control, ...]:
    """The controls that the user need not name."""
    seen = plan.reference
    only_cuda = bool(seen.builds) and not (seen.compiles or seen.launches)
    standard: tuple[controls.Control, ...] = ()
    if reference is not None and reference.fault.phase != "python":
        standard = controls.standard(plan.gpu, triton=not only_cuda, amd=_for_amd(plan), fault=reference.fault)
    if reference is not None and not only_cuda:
        fault = reference.fault
        kernels = {launch.kernel for launch in seen.launches} or kernels_of(original.text)
        kernel = fault.kernel or (known.kernel if known is not None else "")
        results = of_results(fault, kernel, kernels, gpu=plan.gpu)
        arguments = of_arguments(fault, original.text)
        more = (*controls.of_access(fault), *of_front_end(fault), *of_stages(fault, original.text))
        standard = (*more, *arguments, *results, *standard)
    same = plan.oracle if isinstance(plan.oracle, SameFaultOracle) else None
    if same is not None and same.causes is not None:
        standard = (*of_switches(same.causes, original.text), *standard)
    check = same.comparison if same is not None else None
    if check is not None and plan.gpu:
        standard = controls.standard(plan.gpu, amd=_for_amd(plan))
    setup = plan.pool.setup
    compilers = controls.of_compilers(plan.oracle.needs, setup.python, setup.environment, setup.arch)
    every = (*controls.of_check(check), *controls.of_cuda(original, plan.gpu), *compilers, *standard)
    return tuple({each.name: each for each in every}.values())


def _look(plan: calibration.Plan, test: TieredTest, quick: dump_runs.LaneDumps | None) -> Callable[[str], Fault | None]:
    """The Fault of a text by the instruments; of a flaky one what the best of several looks told."""
    virtual = plan.pool if plan.pool.setup.arch is not None else None
    checkpoints = Checkpoints(plan.pool.setup, plan.pool.seconds + plan.pool.extra, quick, virtual)

    def look(text: str) -> Fault | None:
        def once(_: int) -> Fault | None:
            test.tally.count("fingerprint")
            return checkpoints.fault(text, plan.pool.script)

        if test.policy.repeats is None:
            return once(0)
        with ThreadPoolExecutor(4) as threads:
            return max(threads.map(once, range(LOOKS)), key=_known_fields, default=None)

    return look


def _trying(
    plan: calibration.Plan, test: TieredTest, named: Sequence[controls.Control], standard: int, jobs: int
) -> ControlTrials:
    """How controls are tried. What hangs takes its whole limit under each control, too: the original is tried under all
    of them at once. So much load may hide that one makes it end, which is not asked of the steps then; of one that the
    user named it must not."""
    limit = plan.pool.seconds + plan.pool.extra
    terms = replace(plan.pool.terms, jobs=2)
    if not any("interpreter" in control.way.knobs for control in named):
        extra = plan.pool.extra if plan.pool.mode == "cold" else 0.0
        terms = replace(terms, seconds=min(limit, INTERPRETED), extra=extra)
    interpreting = plan.pool.on(terms)

    def trying(pool: Pool, repeats: int) -> controls.Controls:
        def run(text: str, way: KnobSetting) -> Run:
            test.tally.count("control")
            code = test.policy.machine_code or not {"ptxas", "llvm"}.isdisjoint(way.knobs)
            return (interpreting if "interpreter" in way.knobs else pool).run(text, way=way, machine_code=code)

        return controls.Controls(run, plan.oracle, reference=plan.reference, repeats=repeats)

    repeats, on_steps = _repeats(test.policy.repeats)
    at_once = plan.oracle.needs.timing and test.policy.repeats is None and not named
    first = plan.pool.beside(lanes_that_fit(plan.pool, min(standard, jobs))) if at_once else plan.pool
    return ControlTrials(trying(first, repeats), trying(plan.pool, on_steps), trying(plan.pool, repeats), at_once)


def _known_fields(fault: Fault | None) -> int:
    return sum(map(bool, astuple(fault))) if fault is not None else -1


def _repeats(repeats: FlakyTest | None) -> tuple[int, int]:
    """Clean runs that make a control one that passes, on the original and on an accepted step.

    By chance a control must hardly ever pass on the original: each step would be held against it. On a step, where one
    sighting decides, a slip that two runs miss is seen by those of the next steps.
    """
    return (clean_runs(repeats.goal, 0.001), clean_runs(repeats.goal, 0.5)) if repeats else (1, 1)


def _for_amd(plan: calibration.Plan) -> bool:
    arch = plan.pool.setup.arch
    return arch is not None and gpu_target(arch).is_amd
