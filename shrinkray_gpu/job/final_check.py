"""The final check: the result is written, and run in clean processes as the user would run it."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from shrinkray_gpu import calibration
from shrinkray_gpu.calibration.standing import lanes_that_fit
from shrinkray_gpu.job import hang_check
from shrinkray_gpu.job.asked import CACHE
from shrinkray_gpu.judging.cold_tier import PATIENT, full_verdict
from shrinkray_gpu.lift.data_files import final_files
from shrinkray_gpu.options import Options, jobs_of
from shrinkray_gpu.oracle.driver_error import sticky_code
from shrinkray_gpu.oracle.statistics import Rate, upper
from shrinkray_gpu.oracle.verdict import Answer, Verdict
from shrinkray_gpu.passes.layout.layout import layout
from shrinkray_gpu.reduction.for_the_reader import with_layout
from shrinkray_gpu.reduction.outcome import Reduction
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner import cores
from shrinkray_gpu.runner.extensions import lacking
from shrinkray_gpu.runner.fence import refused
from shrinkray_gpu.runner.lanes import START, Setup
from shrinkray_gpu.runner.plain import fence, run_file
from shrinkray_gpu.runner.plain_file import replace_file
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.runner.scratch_folder import scratch_folder
from shrinkray_gpu.runner.shared_gpu import unshared

FLAKY_RUNS = 20
"""Clean runs of the result of a flaky fault: enough for an interval that says something."""


@dataclass(frozen=True)
class FinalCheck:
    """A program at its place, and what clean runs of it say."""

    text: str
    verified: int
    """How many of the runs show the fault."""
    runs: int
    """That told something."""
    stands: bool
    unknown: int = 0
    """How many runs more told nothing: they were too slow, or killed."""
    larger: bool = False
    """Whether it is not the smallest: that does not show the fault in every clean run."""
    instead: str = ""
    """What a run that does not show it does; empty where nobody knows."""
    other_error: str = ""
    """An error in which some of its runs end instead, as the same access may by chance."""
    error: int = 0
    """The driver's code in which most of those runs ended that nothing watched; 0 where none tells one."""
    unfenced: str = ""
    """The file that it writes, as the original does, so that it ran without a fence; empty where it ran in one."""


def final_check(
    text: str, output: Path, plan: calibration.Plan, options: Options, shown: Program | None = None
) -> FinalCheck:
    """`shown`: a program that a cold run of the search showed. Where that is what the clean runs are, as on the virtual
    GPU, and this is its very text, it is not made twice."""
    runs = options.final_runs or _final_runs(plan)
    if shown is not None and shown.text == text and runs == 1 and options.arch is not None and plan.rate is None:
        replace_file(output, final_files(text, output)[0].encode())
        return FinalCheck(text, 1, 1, True)
    seen = clean_runs(text, output, plan, options, runs)
    return FinalCheck(
        text,
        seen.verified,
        runs - seen.unknown,
        _sound(seen.verified, runs - seen.unknown, plan.rate),
        unknown=seen.unknown,
        instead=seen.instead,
        other_error=seen.other_error,
        error=seen.error,
        unfenced=str(seen.written[0]) if seen.written else "",
    )


def fallback_check(
    smallest: FinalCheck,
    reduction: Reduction,
    original: Program,
    output: Path,
    plan: calibration.Plan,
    options: Options,
    *,
    shown: Callable[[str], str] = str,
    laid_out: Callable[[str], str] = layout,
) -> FinalCheck:
    """In place of one that does not stand, the smallest accepted one that does in all clean runs: of a flaky fault,
    which they cannot tell so soon, the last that a cold run confirmed. Itself again where there is none on the way, and
    where no clean run told anything of it, but a cold one did before."""

    def check(each: Program) -> FinalCheck:
        if each == original:  # its own runs were the first of all
            return FinalCheck(each.text, 1, 1, True)
        text = shown(with_layout(laid_out, each).text)
        return smallest if text == smallest.text else final_check(text, output, plan, options)

    if not smallest.runs and reduction.checks.verified == reduction.program:
        return smallest  # nobody knows, but that it stood on the way
    if plan.rate is None:
        found = _last_standing(reduction.line, check, reduction.checks.verified)
    else:
        confirmed = reduction.checks.verified not in (original, reduction.program)
        found = check(reduction.checks.verified) if confirmed else None
    if found is None or found.text in (original.text, smallest.text):
        replace_file(output, final_files(smallest.text, output)[0].encode())  # the search for it left another one there
        return smallest
    return replace(found, larger=True, stands=found.stands and plan.rate is None)


def _final_runs(plan: calibration.Plan) -> int:
    if plan.rate is not None:
        return FLAKY_RUNS
    return 3 if plan.gpu else 1


def _sound(verified: int, runs: int, rate: Rate | None) -> bool:
    """Whether the final runs that told something bear out the result: all of them, or of a flaky fault no fewer than
    half of the original's rate would show by chance in one of twenty cases."""
    if rate is None:
        return verified == runs > 0
    return upper(verified, runs, 0.05) >= rate.estimate / 2 and verified > 0


@dataclass(frozen=True)
class CleanRuns:
    """What clean runs of a program say."""

    verified: int
    unknown: int = 0
    """Runs that were killed, or too slow, once more as well: load beside them does that."""
    instead: str = ""
    other_error: str = ""
    error: int = 0
    written: tuple[Path, ...] = ()
    """Files that the fence refused and the original wrote: those runs were made once more without it."""


def clean_runs(text: str, output: Path, plan: calibration.Plan, options: Options, runs: int) -> CleanRuns:
    """Write the result and run it cold, as the user would, `runs` times; in the fence, where that refuses it nothing
    that the original did. A run that tells nothing is made again, alone and with more time."""
    replace_file(output, final_files(text, output)[0].encode())
    written: list[Path] = []
    script, setup = plan.pool.script, plan.pool.setup
    oracle = plan.oracle
    as_user = options.arch is None and oracle.needs.plain
    folders = ExitStack()
    builds = folders.enter_context(scratch_folder(setup.scratch))
    extensions = {"TORCH_EXTENSIONS_DIR": builds, **builders(text, options, setup)}
    limit = options.timeout or plan.pool.seconds + (calibration.IMPORTS if oracle.needs.seconds else START)

    def fenced(seconds: float) -> Run:
        run = plain(seconds, fence(options.python, setup, tempfile.gettempdir()))
        files = refused(run, script.cwd)
        if not files or not {str(path.resolve()) for path in files} <= set(plan.reference.writes):
            return run
        written.extend(files)
        return plain(seconds, ())

    def plain(seconds: float, prefix: Sequence[str]) -> Run:
        with scratch_folder(setup.scratch) as cache:
            environment = {**os.environ, **options.environment, "TRITON_CACHE_DIR": cache, **extensions}
            return unshared(
                setup,
                lambda: run_file(
                    options.python,
                    output,
                    options.argv,
                    environment=environment,
                    cwd=script.cwd,
                    seconds=seconds,
                    prefix=prefix,
                ),
            )

    seen: dict[int, Run] = {}

    def once(at: int, patience: float = 1.0) -> Verdict:
        if as_user:
            seen[at] = fenced(patience * limit)
            verdict = oracle.judge(seen[at])
            if verdict.is_known:
                return verdict
        # What a plain process cannot tell: a static fault, the IR, a sticky error that the script swallows.
        pool = plan.pool.on(replace(plan.pool.terms, seconds=patience * plan.pool.seconds))
        return full_verdict(oracle, text, script.path.name, pool.cold)

    if as_user and oracle.needs.seconds and plan.rate is None:
        # Half the cores: each process imports torch, and must have got to its launch when the time is over.
        at_once = lanes_that_fit(plan.pool, min(jobs_of(options), cores.usable() // 2))
        with folders:
            hung = hang_check.showing(
                oracle, runs, watched=lambda: plan.pool.cold(text), plain=fenced, most=limit, at_once=at_once
            )
            return CleanRuns(hung, written=tuple(written))
    with folders:
        with ThreadPoolExecutor(min(runs, plan.pool.jobs)) as threads:
            verdicts = list(threads.map(once, range(runs)))
        for at, verdict in enumerate(verdicts):
            if not (verdict.is_known or oracle.needs.timing):
                verdicts[at] = once(at, PATIENT)
    other_error = ""
    if any(verdict.faults for verdict in verdicts):
        # One showed what was asked for. Where the same access falls by chance, the others end in another error.
        either = oracle.taking_either()
        for at, verdict in enumerate(verdicts):
            if verdict.answer is Answer.PASSES and at in seen and (loose := either.judge(seen[at])).faults:
                verdicts[at], other_error = loose, verdict.why
    instead = next((verdict.why for verdict in verdicts if not verdict.faults), "")
    unknown = sum(not verdict.is_known for verdict in verdicts)
    codes = Counter(sticky_code(seen[at])[0] for at, verdict in enumerate(verdicts) if verdict.faults and at in seen)
    error = max(codes, key=lambda code: (codes[code], code), default=0)
    faulted = sum(verdict.faults for verdict in verdicts)
    return CleanRuns(faulted, unknown, instead, other_error, error, tuple(written))


def builders(text: str, options: Options, setup: Setup) -> dict[str, str]:
    """What must be in the environment of a clean run for its extensions to be built: nothing, where torch can do it;
    else our own builder, which needs neither ninja nor Python's headers."""
    if "cpp_extension" not in text or not lacking(options.python, os.environ):
        return {}
    return {name: setup.environment[name] for name in ("PYTHONPATH", CACHE) if name in setup.environment}


def _last_standing(
    line: Sequence[Program], check: Callable[[Program], FinalCheck], confirmed: Program
) -> FinalCheck | None:
    """The last of the accepted programs that stands, by bisection: what shows its fault in lanes only lost it in one
    step, mostly. The last is taken not to, and what was `confirmed` on the way to stand. Where the fault got rarer on
    the way, the one that was found may have stood by chance: it is asked again, and one before it is looked for if it
    falls. Where nothing tells, since all is too slow, what was confirmed is the last that stood."""
    good, bad = 0, len(line) - 1
    if confirmed in line[:bad]:
        good = line.index(confirmed)
    while bad > 0:
        while bad - good > 1:
            middle = (good + bad) // 2
            if check(line[middle]).stands:
                good = middle
            else:
                bad = middle
        found = check(line[good])
        if found.stands or not good or not found.runs:
            return found
        good, bad = 0, good
    return None
