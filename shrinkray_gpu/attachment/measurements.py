"""What must be run to make an attachment: the instruments on the repro, the control experiments, and the nearest
passing variant once more. All of it on the lanes of a plan that stands for the repro."""

from __future__ import annotations

import difflib
import errno
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from shrinkray_gpu.attachment import compiled_code as coding
from shrinkray_gpu.attachment import experiments as trying
from shrinkray_gpu.attachment.compiled_code import Code
from shrinkray_gpu.attachment.experiments import Experiment, Experiments
from shrinkray_gpu.attachment.pass_reproducer import pass_reproducers
from shrinkray_gpu.calibration import Plan
from shrinkray_gpu.device import disassembly
from shrinkray_gpu.evidence.evidence import Evidence
from shrinkray_gpu.evidence.examine import examine
from shrinkray_gpu.evidence.instruments.instrument import WANTS
from shrinkray_gpu.evidence.secrets_found import without_secret_words
from shrinkray_gpu.intermediate.lit_test import read_beside
from shrinkray_gpu.oracle.statistics import clean_runs
from shrinkray_gpu.runner.knob_settings import KnobSetting
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.same_fault.controls import ControlOutcome, Controls

CHANCE = 0.01
"""How seldom a variant of a flaky repro may look as if it passed."""
_FULL = os.strerror(errno.ENOSPC)
Say = Callable[[str], None]


@dataclass(frozen=True)
class PassingVariant:
    """The nearest passing variant."""

    experiment: Experiment
    diff: str
    """Of the repro's text, unified."""
    code: Code
    differences: Mapping[str, str]
    """Of the compiled code, by stage."""
    confirmed: str = ""
    """How it fared once more in a process of its own."""


@dataclass(frozen=True)
class Measurements:
    """What the runs told."""

    text: str
    """The repro under its header."""
    evidence: Evidence
    code: Code
    trials: Experiments
    build: str
    passing: PassingVariant | None = None
    reproducers: Mapping[str, str] = field(default_factory=dict)
    """Of a compiler crash: MLIR from just before the pass that fails, by file name."""
    as_ir: Mapping[str, str] = field(default_factory=dict)
    """The same fault as reduced IR, by file name."""


def measure(
    text: str,
    output: Path,
    plan: Plan,
    *,
    seconds: float = trying.SECONDS,
    say: Say = lambda text: None,
    stop: Callable[[], bool] = lambda: False,
) -> Measurements:
    """Run what there is to run of the repro `text`, which stands at `output`, its header included. Experiments that
    have not begun after so many `seconds`, or when `stop` says so, are left out.

    Raises OSError where the disk filled up meanwhile: what a compiler says that cannot write its files is no evidence.
    """
    setup, tool = plan.pool.setup, disassembly.find(plan.pool.setup.python, plan.pool.setup.environment)
    script = replace(plan.pool.script, path=output, name="")
    pool = plan.pool.serving(script, seconds=plan.pool.seconds)
    if plan.pool.mode != "cold":  # a worker dies with the thread that made it
        plan.starter.submit(pool.start, text).result()
    with ThreadPoolExecutor(1) as threads:
        looking = threads.submit(
            _examined,
            text,
            replace(script, twins=(), sanitizer=""),
            plan,
            pool,
        )
        trials = _trials(text, output, plan, pool, seconds, say, stop)
        nearest = trials.nearest
        again = _once_more(nearest, plan, pool, script) if nearest else None
        seen = looking.result()
    if _full(seen, trials):
        raise OSError(errno.ENOSPC, f"{_FULL} (compiled kernels go there, too)", setup.scratch)
    code = coding.of_run(seen.run, seen.kernel, tool, seen.launch.hash if seen.launch else "")
    build = coding.build_log(seen.run, python=setup.python, environment=setup.environment)
    passing = None
    if nearest is not None and again is not None:
        passing = _passing(nearest, again, text, output.name, plan, code, coding.of_run(again, seen.kernel, tool))
    crashed = seen.fault is not None and seen.fault.phase == "compile"
    reproducers = pass_reproducers(text, pool)[0] if crashed else {}
    as_ir = read_beside(output) if crashed else {}
    return Measurements(text, seen, code, trials, build, passing, reproducers, as_ir)


def _examined(text: str, script: Script, plan: Plan, pool: Pool) -> Evidence:
    """What all instruments say of the repro. On the virtual GPU a lane tells what a cold process would."""
    run = None
    if pool.mode == "virtual":
        run = pool.serving(script, seconds=pool.seconds).run(text, fresh=True, wants=WANTS)
    return examine(
        text,
        script,
        plan.pool.setup,
        seconds=pool.seconds,
        extra=pool.extra,
        intermittent=plan.rate is not None,
        run=run,
    )


def _full(seen: Evidence, trials: Experiments) -> bool:
    """Whether a run met a full disk."""
    run = seen.run
    said = [run.stderr, run.failure.text if run.failure else ""] if run else []
    said += [trials.left_out, *(one.why for one in (trials.control, *trials.experiments))]
    return any(_FULL in text for text in said)


def _trials(
    text: str, output: Path, plan: Plan, pool: Pool, seconds: float, say: Say, stop: Callable[[], bool]
) -> Experiments:
    """The control experiments, where the oracle can judge them."""
    why = ""
    fault = plan.oracle.needs.run and not plan.oracle.needs.text
    if not fault:
        why = f"the oracle {plan.oracle.spec!r} runs the program itself"
    elif plan.oracle.needs.twins:
        why = "the fault is a difference between two runs: each is a control of the other"
    if why:
        return Experiments(
            Experiment("the program as it is", "plain", "", "", ControlOutcome.FAULTS.value), left_out=why
        )
    repeats = clean_runs(plan.rate.estimate / 2, CHANCE) if plan.rate is not None else 1

    def run(source: str, way: KnobSetting) -> Run:
        return pool.run(source, way=way, fresh=True)

    reference = pool.run(text, fresh=True)  # the original's kernels may have had other names
    controls = Controls(run, plan.oracle, reference=reference, repeats=repeats)
    return trying.run_experiments(
        text,
        output.name,
        controls,
        gpu=plan.gpu,
        jobs=pool.jobs,
        argv=without_secret_words(pool.script.argv),
        seconds=seconds,
        say=say,
        stop=stop,
    )


def _once_more(nearest: Experiment, plan: Plan, pool: Pool, script: Script) -> Run:
    """The nearest passing variant as its reader will run it, and asked for its code."""
    wanted = tuple(dict.fromkeys((*script.wants, *WANTS)))
    asking = pool.serving(replace(script, wants=wanted), seconds=pool.seconds)
    return asking.cold(nearest.text) if plan.gpu else asking.run(nearest.text, fresh=True)


def _passing(
    nearest: Experiment, run: Run, text: str, name: str, plan: Plan, mine: Code, other: Code
) -> PassingVariant:
    """What is told of it, and how its code differs."""
    verdict = plan.oracle.judge(run)
    where = "in a process of its own" if plan.gpu else "once more"
    stem = name.removesuffix(".py")
    lines = difflib.unified_diff(
        text.splitlines(), nearest.text.splitlines(), name, f"{stem}_passing.py", n=1, lineterm=""
    )
    differences = coding.difference(mine, other, (stem, f"{stem}_passing"))
    return PassingVariant(
        nearest, "\n".join(lines) + "\n", other, differences, f"{where}: it {verdict.answer.value} ({verdict.why})"
    )
