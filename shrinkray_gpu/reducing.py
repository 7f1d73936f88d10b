"""The whole job: plan, search, final check, result on disk. `shrink` calls this, and so may Python code."""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shrinkray_gpu import __version__, lift
from shrinkray_gpu import plan as planning
from shrinkray_gpu.errors import FinalCheckFailed, UsageError
from shrinkray_gpu.judge import Judge, whole
from shrinkray_gpu.oracle import Oracle, all_of, parse
from shrinkray_gpu.passes import PASSES
from shrinkray_gpu.passes.layout import layout
from shrinkray_gpu.passes.observed import instrument, watchable
from shrinkray_gpu.reduction.engine import Event, reduce_program
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.program import Program, read_program
from shrinkray_gpu.reduction.size import lines, tokens
from shrinkray_gpu.runner.lanes import START, Setup
from shrinkray_gpu.runner.plain import run_file
from shrinkray_gpu.runner.pool import Script
from shrinkray_gpu.runner.run import Run

EAGER = 12.0
"""What a faulting try costs on a GPU against a passing one: a context, of which a device makes 2.4 a second."""


@dataclass(frozen=True)
class Options:
    """How to reduce. Everything has the default that the command has."""

    oracle: tuple[str, ...] = ()
    reject: tuple[str, ...] = ()
    output: Path | None = None
    python: str = sys.executable
    arch: int | None = None
    """Compute capability times ten (90): compile for it on the virtual GPU, launch nothing."""
    argv: tuple[str, ...] = ()
    keep: frozenset[str] = frozenset()
    skip: frozenset[str] = frozenset()
    jobs: int | None = None
    timeout: float | None = None
    max_time: float | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    seed: int = 0
    resume: bool = False
    restart: bool = False
    final_runs: int | None = None
    """Clean runs of the result at the end. Default: 3 on a GPU, 1 without, where a run decides nothing by chance."""
    mode: str | None = None
    """Force a running mode (`cold`, `fork`); for comparison."""


@dataclass(frozen=True)
class Result:
    """What came out."""

    output: Path
    text: str
    spec: str
    before: tuple[int, int]
    """Non-blank lines and tokens."""
    after: tuple[int, int]
    tries: Mapping[str, int]
    seconds: Mapping[str, float]
    """Wall time: `start`, `search`, `check`; and `gpu`, the time that lanes were busy."""
    mode: str
    verified: int
    """How many of the final cold runs showed the fault, of `final_runs`."""
    final_runs: int
    ended: str
    """`done`, `stopped` (Ctrl-C), `out of time` or `interrupted`."""
    command: str
    """Shows the fault."""

    def to_json(self) -> dict[str, Any]:
        return {**self.__dict__, "output": str(self.output), "tries": dict(self.tries), "seconds": dict(self.seconds)}


Say = Callable[[str], None]


def reduce(
    path: Path,
    options: Options,
    *,
    say: Say = lambda text: None,
    progress: Callable[[Event, Judge], None] = lambda event, judge: None,
    stop: Callable[[], bool] = lambda: False,
) -> Result:
    """Reduce the script at `path` to the smallest one that still shows the fault.

    Raises UsageError (bad input), NotReproduced (the original does not show the fault) or FinalCheckFailed (the result
    did not show it in a clean process; the best verified program is written all the same).
    """
    started = time.monotonic()
    program = read_program(path)
    output, folder = places(path, options)
    _check_writable(path, output, folder)
    _check_kept(program, options)
    planning.check_python(options.python)
    chosen = _oracle(options, Path.cwd())
    _check_limit(chosen, options)
    setup = _setup(path, folder, options)
    jobs = _jobs(options)
    width = max(6, min(32, 3 * jobs))
    with Journal.open(
        folder,
        original=program,
        seed=options.seed,
        width=width,
        settings=_settings(options),
        version=__version__,
        resume=options.resume,
        restart=options.restart,
    ) as journal:
        say(f"running {path.name} as it is ...")
        plan = _plan(path, program, options, chosen, setup, say)
        judge = Judge(plan.oracle, plan.pool, dry=plan.dry, predicts=plan.dry_predicts)
        try:
            for line in _found(plan):
                say(line)
            ready = time.monotonic()
            reduction = reduce_program(
                program,
                passes=PASSES,
                judge=judge,
                journal=journal,
                watch=judge.values if plan.oracle.needs_run else None,
                lifts=_lifts(program, judge, say) if plan.oracle.needs_run and "lift" not in options.skip else None,
                instrument=lambda watched: instrument(watched, watchable(watched)),
                confirm=judge.confirm if plan.mode != "cold" else None,
                probe=judge.probe if plan.dry_predicts else None,
                checkpoint=_checkpoint(plan),
                layout=layout,
                progress=lambda event: progress(event, judge),
                insist=judge.insist,
                seed=journal.header["seed"],
                width=journal.header["width"],
                eager=EAGER if plan.gpu and not plan.dry_predicts else 1.0,
                flaky=plan.faulted < plan.runs,
                keep=sorted(options.keep),
                skip=options.skip,
                stop=stop,
                deadline=ready + options.max_time if options.max_time else None,
            )
            searched = time.monotonic()
            best, runs = reduction.program.text, options.final_runs or (3 if plan.gpu else 1)
            verified = _verify(best, output, plan, options, runs)
            sound = verified == runs or plan.faulted < plan.runs
            if not sound and reduction.verified not in (program, reduction.program):
                best = reduction.verified.text
                verified = _verify(best, output, plan, options, runs)
            ended = time.monotonic()
        finally:
            judge.close()
            plan.close()
    result = Result(
        output=output,
        text=best,
        spec=plan.oracle.spec,
        before=(lines(program.text), tokens(program.text)),
        after=(lines(best), tokens(best)),
        tries=dict(judge.tries),
        seconds={
            "start": ready - started,
            "search": searched - ready,
            "check": ended - searched,
            "gpu": judge.lane_seconds if plan.gpu else 0.0,
        },
        mode=plan.mode,
        verified=verified,
        final_runs=runs,
        ended=reduction.ended,
        command=_command(output, options, plan),
    )
    if not sound:
        raise FinalCheckFailed(
            "the smallest program does not show the fault in every clean run, as the original does. The smallest "
            f"that a cold run confirmed is in {output} ({verified} of {runs} clean runs show it), the smaller one in "
            f"{folder / 'best.py'}"
        )
    return result


def check(path: Path, options: Options, *, say: Say = lambda text: None) -> str:
    """Run the script at `path` as a reduction of it would, and write nothing beside it. Returns the SPEC that it shows.

    Raises UsageError or NotReproduced as `reduce` does. A static fault needs this: `python FILE` cannot show it without
    a GPU.
    """
    program = read_program(path)
    planning.check_python(options.python)
    chosen = _oracle(options, Path.cwd())
    _check_limit(chosen, options)
    with tempfile.TemporaryDirectory(prefix="shrink-") as folder:
        plan = _plan(path, program, options, chosen, _setup(path, Path(folder), options), say)
        try:
            for line in _found(plan):
                say(line)
        finally:
            plan.close()
    return plan.oracle.spec


def places(path: Path, options: Options) -> tuple[Path, Path]:
    """Where the result goes, and the folder for everything else."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder: name the script that fails")
    output = (options.output or path.with_name(f"repro_{path.stem}.py")).absolute()
    return output, output.parent / f"{path.stem}.shrink"


def _plan(
    path: Path, program: Program, options: Options, chosen: Oracle | None, setup: Setup, say: Say
) -> planning.Plan:
    """See how the original fares, and settle how candidates are run."""
    script = Script(
        path.absolute(),
        argv=options.argv,
        cwd=(options.cwd or Path.cwd()).absolute(),
        asserts=options.arch is None or chosen is None or chosen.asserts,
        wants=tuple(sorted(chosen.wants)) if chosen else (),
    )
    return planning.make(
        program.text,
        script,
        setup,
        oracle=chosen or (lambda run: _adopt(run, options, Path.cwd(), say)),
        jobs=_jobs(options),
        timeout=options.timeout,
        devices=_devices(setup),
        mode=options.mode,
    )


def _checkpoint(plan: planning.Plan) -> int:
    """Candidates between two confirmations, so many that a confirmation is there when it is looked at."""
    if plan.dry_predicts:
        return 50  # in a lane: half a second
    if plan.gpu:
        return 200  # in a cold process: five
    return 1 << 30  # a cold process takes seconds of the few cores that judge the candidates: one at the end


def _jobs(options: Options) -> int:
    return options.jobs or os.cpu_count() or 1


def _lifts(program: Program, judge: Judge, say: Say) -> Callable[[], Sequence[str]]:
    """Runs the original once more and makes scripts of its faulty launch. Asked once, by the engine."""

    def lifts() -> Sequence[str]:
        run = judge.capture(program)
        for obstacle in lift.obstacles(run):
            say(f"a launch could not be lifted out of the program: {obstacle}")
        return lift.candidates(run)

    return lifts


def _check_limit(chosen: Oracle | None, options: Options) -> None:
    if chosen is not None and chosen.alone and options.timeout is None:
        raise UsageError(
            "--oracle timeout asks for a program that does not end within --timeout: give that, in seconds"
        )


def _check_kept(program: Program, options: Options) -> None:
    for name in sorted(options.keep):
        if not re.search(rf"\b{re.escape(name)}\b", program.text):
            raise UsageError(f"--keep {name}: there is no such name in {program.regions[0].path}")


def _check_writable(path: Path, output: Path, folder: Path) -> None:
    """Raises UsageError unless the result can be written. The folder for the rest is there afterwards."""
    if output.resolve() == path.resolve():
        raise UsageError(f"--output {output} is the program itself, which is never overwritten: name another file")
    if output.is_dir():
        raise UsageError(f"{output} is a folder: name a file with --output")
    if not output.parent.is_dir():
        raise UsageError(
            f"cannot write {output}: {output.parent} is not a folder. Create it, or choose another --output"
        )
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror}. Choose another place with --output") from error
    for place in (output.parent, folder):
        if not os.access(place, os.W_OK):
            raise UsageError(f"cannot write into {place}: permission denied. Choose another place with --output")


def _oracle(options: Options, folder: Path) -> Oracle | None:
    """The oracle asked for; None where the fault seen is to be adopted."""
    if not options.oracle:
        return None
    return all_of(
        [parse(spec, folder=folder) for spec in options.oracle], [parse(spec, folder=folder) for spec in options.reject]
    )


def _adopt(run: Run, options: Options, folder: Path, say: Say) -> Oracle:
    spec = planning.adopted(run)
    say(f"no --oracle given: adopted the fault seen, --oracle {shlex.quote(spec)}")
    return all_of([parse(spec, folder=folder)], [parse(reject, folder=folder) for reject in options.reject])


def _setup(path: Path, folder: Path, options: Options) -> Setup:
    """The situation that all candidates share. Caches are the reduction's own; the user's are never written."""
    scratch, caches = folder / "scratch", folder / "cache"
    for place in (scratch, caches):
        place.mkdir(parents=True, exist_ok=True)
    environment = {
        **os.environ,
        **options.environment,
        "TRITON_CACHE_DIR": str(caches / "triton"),
        "TORCHINDUCTOR_CACHE_DIR": str(caches / "inductor"),
        "PYTORCH_NVML_BASED_CUDA_CHECK": "1",  # is_available() in the worker must not start CUDA before the fork
    }
    cwd = options.cwd or Path.cwd()
    return Setup(
        python=options.python,
        environment=environment,
        imports=(),
        own=(str(path.parent.absolute()), str(cwd.absolute())),
        scratch=str(scratch),
        writable=(str(caches),),
        arch=options.arch,
    )


def _devices(setup: Setup) -> tuple[str, ...]:
    """The GPUs named in CUDA_VISIBLE_DEVICES, each to get lanes of its own; none named means the first."""
    named = setup.environment.get("CUDA_VISIBLE_DEVICES", "")
    devices = tuple(name.strip() for name in named.split(",") if name.strip())
    return devices if len(devices) > 1 and setup.arch is None else ()


def _settings(options: Options) -> dict[str, Any]:
    """What must be the same for a resumed reduction to go on with the verdicts of the first."""
    return {
        "oracle": options.oracle,
        "reject": options.reject,
        "python": options.python,
        "arch": options.arch,
        "argv": options.argv,
        "environment": dict(options.environment),
        "cwd": options.cwd,
        "keep": sorted(options.keep),
        "skip": sorted(options.skip),
    }


def _found(plan: planning.Plan) -> list[str]:
    """What was seen of the original, for the user."""
    modes = {
        "virtual": "on the virtual GPU, a fork for each candidate",
        "warm": "in warm contexts, reused while they stay clean",
        "fork": "in forked children of a warm process",
        "cold": "in a new process each",
    }
    why = plan.oracle.judge(plan.reference).why if plan.oracle.needs_run else ""
    lines_ = [
        f"fault: {why or plan.oracle.spec} ({plan.faulted} of {plan.runs} runs), "
        f"{plan.cold_seconds:.1f} s in a cold process, {plan.warm_seconds:.2f} s in a lane",
        f"running candidates {modes[plan.mode]}: {plan.why}",
    ]
    warnings = [f"warning: {plan.oracle.warning}"] if plan.oracle.warning else []
    return [*lines_, *plan.notes, *warnings]


def _verify(text: str, output: Path, plan: planning.Plan, options: Options, runs: int) -> int:
    """Write the result and run it cold, as the user would, `runs` times. Returns how often the fault showed."""
    _write(output, text)
    script, setup = plan.pool.script, plan.pool.setup
    as_user = options.arch is None and not plan.oracle.needs_text and not plan.oracle.wants

    def once(_: int) -> bool:
        if as_user:
            with tempfile.TemporaryDirectory(dir=setup.scratch, ignore_cleanup_errors=True) as cache:
                run = run_file(
                    options.python,
                    output,
                    options.argv,
                    environment={**os.environ, **options.environment, "TRITON_CACHE_DIR": cache},
                    cwd=script.cwd,
                    seconds=options.timeout or plan.pool.seconds + START,
                )
            verdict = plan.oracle.judge(run)
            if verdict.known:
                return verdict.faults
        # What a plain process cannot tell: a static fault, the IR, a sticky error that the script swallows.
        return whole(plan.oracle, text, script.path.name, plan.pool.cold).faults

    with ThreadPoolExecutor(min(runs, plan.pool.jobs)) as threads:
        return sum(threads.map(once, range(runs)))


def _write(path: Path, text: str) -> None:
    new = path.with_name(path.name + ".new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def _command(output: Path, options: Options, plan: planning.Plan) -> str:
    """The command that shows the fault: plain `python FILE` wherever that can show it."""
    shown = os.path.relpath(output)
    settings = [f"{key}={value}" for key, value in options.environment.items()]
    if options.arch is None and not plan.oracle.needs_text and not plan.oracle.wants:
        python = options.python if options.python != sys.executable else "python"
        plain = shlex.join([*(["env", *settings] if settings else []), python, shown, *options.argv])
        if options.cwd is None:
            return plain
        return f"cd {shlex.quote(str(options.cwd))} && {plain.replace(shown, str(output))}"
    words = ["shrink", shown, "--check"]
    words += ["--arch", f"sm_{options.arch}"] if options.arch is not None else []
    words += [word for spec in options.oracle or (plan.oracle.spec,) for word in ("--oracle", spec)]
    words += [word for spec in options.reject for word in ("--reject", spec)] if options.oracle else []
    words += ["--python", options.python] if options.python != sys.executable else []
    words += ["--cwd", str(options.cwd)] if options.cwd is not None else []
    words += [word for setting in settings for word in ("--env", setting)]
    return shlex.join([*words, *(["--", *options.argv] if options.argv else [])])
