"""The final check: the result is written, and run in clean processes as the user would run it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from shrinkray_gpu import planning
from shrinkray_gpu.judge import whole
from shrinkray_gpu.lift.beside import settled
from shrinkray_gpu.options import CACHE, Options
from shrinkray_gpu.oracle.statistics import Rate, upper
from shrinkray_gpu.reduction.outcome import Reduction
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.extensions import lacking
from shrinkray_gpu.runner.lanes import START, Setup
from shrinkray_gpu.runner.plain import run_file

FLAKY_RUNS = 20
"""Clean runs of the result of a flaky fault: enough for an interval that says something."""


@dataclass(frozen=True)
class Checked:
    """A program at its place, and what clean runs of it say."""

    text: str
    verified: int
    """How many of the runs show the fault."""
    runs: int
    stands: bool
    larger: bool = False
    """Whether it is not the smallest: that does not show the fault in every clean run."""


def checked(text: str, output: Path, plan: planning.Plan, options: Options) -> Checked:
    runs = options.final_runs or _final_runs(plan)
    verified = verify(text, output, plan, options, runs)
    return Checked(text, verified, runs, _sound(verified, runs, plan.rate))


def or_larger(
    smallest: Checked, reduction: Reduction, original: Program, output: Path, plan: planning.Plan, options: Options
) -> Checked:
    """In place of one that does not stand, the smallest accepted one that does in a clean run: of a flaky fault, which
    one clean run cannot tell, the last that a cold run confirmed. Itself again where there is none on the way."""
    larger = reduction.verified
    if plan.rate is None:
        larger = _last_standing(reduction.line, lambda each: verify(each.text, output, plan, options, runs=1) == 1)
    if larger in (original, reduction.program):
        _write(output, settled(smallest.text, output)[0])  # the search for it left another one there
        return smallest
    found = checked(larger.text, output, plan, options)
    return replace(found, larger=True, stands=found.stands and plan.rate is None)


def _final_runs(plan: planning.Plan) -> int:
    if plan.rate is not None:
        return FLAKY_RUNS
    return 3 if plan.gpu else 1


def _sound(verified: int, runs: int, rate: Rate | None) -> bool:
    """Whether the final runs bear out the result: all of them, or of a flaky fault no fewer than half of the original's
    rate would show by chance in one of twenty cases."""
    if rate is None:
        return verified == runs
    return upper(verified, runs, 0.05) >= rate.estimate / 2 and verified > 0


def verify(text: str, output: Path, plan: planning.Plan, options: Options, runs: int) -> int:
    """Write the result and run it cold, as the user would, `runs` times. Returns how often the fault showed."""
    _write(output, settled(text, output)[0])
    script, setup = plan.pool.script, plan.pool.setup
    oracle = plan.oracle
    as_user = options.arch is None and not (oracle.needs_text or oracle.wants or oracle.twins or oracle.sanitizer)
    builds = tempfile.TemporaryDirectory(dir=setup.scratch, ignore_cleanup_errors=True)
    extensions = {"TORCH_EXTENSIONS_DIR": builds.name, **builders(text, options, setup)}

    def once(_: int) -> bool:
        if as_user:
            with tempfile.TemporaryDirectory(dir=setup.scratch, ignore_cleanup_errors=True) as cache:
                run = run_file(
                    options.python,
                    output,
                    options.argv,
                    environment={
                        **os.environ,
                        **options.environment,
                        "TRITON_CACHE_DIR": cache,
                        **extensions,
                    },
                    cwd=script.cwd,
                    seconds=options.timeout or plan.pool.seconds + (planning.IMPORTS if plan.oracle.limit else START),
                )
            verdict = plan.oracle.judge(run)
            if verdict.known:
                return verdict.faults
        # What a plain process cannot tell: a static fault, the IR, a sticky error that the script swallows.
        return whole(plan.oracle, text, script.path.name, plan.pool.cold).faults

    with builds, ThreadPoolExecutor(min(runs, plan.pool.jobs)) as threads:
        return sum(threads.map(once, range(runs)))


def builders(text: str, options: Options, setup: Setup) -> dict[str, str]:
    """What must be in the environment of a clean run for its extensions to be built: nothing, where torch can do it;
    else our own builder, which needs neither ninja nor Python's headers."""
    if "cpp_extension" not in text or not lacking(options.python, os.environ):
        return {}
    return {name: setup.environment[name] for name in ("PYTHONPATH", CACHE) if name in setup.environment}


def _last_standing(line: Sequence[Program], shows: Callable[[Program], bool]) -> Program:
    """The last of the accepted programs that still shows the fault in a clean run, by bisection: what shows it in lanes
    only lost it in one step, mostly. The first is taken to show it, and the last not to."""
    good, bad = 0, len(line) - 1
    while bad - good > 1:
        middle = (good + bad) // 2
        if shows(line[middle]):
            good = middle
        else:
            bad = middle
    return line[good]


def _write(path: Path, text: str) -> None:
    new = path.with_name(path.name + ".new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)
