"""The guards of one reduction: which controls and instruments watch over it, and how often a flaky fault asks them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple
from functools import partial

from shrinkray_gpu import calibration
from shrinkray_gpu.calibration.standing import fitting
from shrinkray_gpu.evidence import dump_runs
from shrinkray_gpu.judging.judge import Judge
from shrinkray_gpu.judging.repetition import Repeated
from shrinkray_gpu.options import Options, jobs_of
from shrinkray_gpu.oracle import Fault
from shrinkray_gpu.oracle.same import SameFaultOracle
from shrinkray_gpu.oracle.statistics import clean_runs
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.runner.ways import Way
from shrinkray_gpu.same_fault import controls
from shrinkray_gpu.same_fault.checkpoints import Checkpoints
from shrinkray_gpu.same_fault.guarding import Guards

LOOKS = 8
"""Times that the instruments look at a flaky fault."""
INTERPRETED = 10.0
"""Seconds that the interpreter has for a program, unless the user named that control: each fingerprint waits for it. A
grid of 132 blocks with a loop of 512 steps took a minute and a half, while the whole search took 18 s."""


def guards_of(
    original: Program,
    plan: calibration.Plan,
    judge: Judge,
    named: Sequence[controls.Control],
    options: Options,
    known: Fault | None = None,
) -> Guards:
    """The guards of this reduction: they begin with the original at once, beside the search. `known`: what the
    instruments said of the user's own program, where that was lifted."""
    repeats, on_steps = _repeats(judge.repeats)
    reference = plan.oracle.reference if isinstance(plan.oracle, SameFaultOracle) else None
    device = reference is not None and reference.fault.phase == "device"
    own = reference is not None and reference.fault.phase != "python"
    seen = plan.reference
    only_cuda = bool(seen.builds) and not (seen.compiles or seen.launches)
    standard = controls.standard(plan.gpu, triton=not only_cuda) if own else ()
    if reference is not None and not only_cuda:
        standard = (*controls.of_access(reference.fault), *standard)
    limit = plan.pool.seconds + plan.pool.extra

    quick = dump_runs.in_lanes(plan.pool) if plan.gpu else None
    checkpoints = Checkpoints(plan.pool.setup, limit, quick)

    def look(text: str) -> Fault | None:
        def once(_: int) -> Fault | None:
            judge.count("fingerprint")
            return checkpoints.fault(text, plan.pool.script)

        if judge.repeats is None:
            return once(0)
        with ThreadPoolExecutor(4) as threads:
            return max(threads.map(once, range(LOOKS)), key=_known_fields, default=None)

    # What hangs takes its whole limit under each control, too: the original is tried under all of them at once. So much
    # load may hide that one makes it end, which is not asked of the steps then; of one that the user named it must not.
    at_once = plan.pool.beside(fitting(plan.pool, min(len(standard), jobs_of(options))))
    interpreting = plan.pool.beside(2)
    if not any("interpreter" in control.way.knobs for control in named):
        interpreting.seconds = min(limit, INTERPRETED)
        interpreting.extra = plan.pool.extra if plan.pool.mode == "cold" else 0.0

    def running(pool: Pool) -> Callable[[str, Way], Run]:
        def run(text: str, way: Way) -> Run:
            judge.count("control")
            code = judge.machine_code or not {"ptxas", "llvm"}.isdisjoint(way.knobs)
            return (interpreting if "interpreter" in way.knobs else pool).run(text, way=way, machine_code=code)

        return run

    run, run_at_once = running(plan.pool), running(at_once)

    first = controls.Controls(run_at_once, plan.oracle, reference=plan.reference, repeats=repeats)
    return Guards(
        original,
        judge=judge,
        reference=reference,
        controls=controls.Controls(run, plan.oracle, reference=plan.reference, repeats=repeats),
        stepwise=controls.Controls(run, plan.oracle, reference=plan.reference, repeats=on_steps),
        first=first if plan.oracle.needs.timing and judge.repeats is None and not named else None,
        chosen=named,
        standard=(*controls.of_cuda(original, plan.gpu), *standard),
        # What the instruments add to a compiler's or Python's own words is nothing.
        examine=look if device and (plan.gpu or options.arch) else None,
        # Of a flaky fault one look may have seen nothing but the words.
        known=known if known is not None and (known.instruction or judge.repeats is None) else None,
        prepare=partial(quick.prepare, seen.peak) if quick is not None and device else None,
    )


def _known_fields(fault: Fault | None) -> int:
    return sum(map(bool, astuple(fault))) if fault is not None else -1


def _repeats(repeats: Repeated | None) -> tuple[int, int]:
    """Clean runs that make a control one that passes, on the original and on an accepted step.

    By chance a control must hardly ever pass on the original: each step would be held against it. On a step, where one
    sighting decides, a slip that two runs miss is seen by those of the next steps.
    """
    return (clean_runs(repeats.goal, 0.001), clean_runs(repeats.goal, 0.5)) if repeats else (1, 1)
