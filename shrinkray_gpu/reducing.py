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
from dataclasses import asdict, astuple, dataclass, field, replace
from pathlib import Path
from typing import Any

from shrinkray_gpu import __version__, lift, perturbing, resulting
from shrinkray_gpu import plan as planning
from shrinkray_gpu.errors import FinalCheckFailed, UsageError
from shrinkray_gpu.evidence import controls, examine, guarded
from shrinkray_gpu.evidence.finds import Context, Find, Finds
from shrinkray_gpu.evidence.versions import versions
from shrinkray_gpu.guarding import Evidence, Guards
from shrinkray_gpu.judge import Judge, whole
from shrinkray_gpu.oracle import Fault, Oracle, all_of, parse
from shrinkray_gpu.oracle.same import Same, same_fault
from shrinkray_gpu.oracle.statistics import Rate, clean_runs, upper
from shrinkray_gpu.passes import PASSES
from shrinkray_gpu.passes.layout import layout
from shrinkray_gpu.passes.observed import instrument, watchable
from shrinkray_gpu.reduction.engine import Event, Reduction, reduce_program
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.program import Program, read_program
from shrinkray_gpu.reduction.size import lines, tokens
from shrinkray_gpu.repeating import Repeated
from shrinkray_gpu.runner import sanitizer
from shrinkray_gpu.runner.lanes import START, Setup
from shrinkray_gpu.runner.plain import run_file
from shrinkray_gpu.runner.pool import Script
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.runner.ways import Way

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
    controls: tuple[str, ...] = ()
    """Knobs that must make the fault vanish: `num_stages=1`."""
    control_environment: tuple[str, ...] = ()
    """Environment settings `K=V` that must make it vanish."""
    control_patches: tuple[Path, ...] = ()
    """Changes of the script (a unified diff, or the whole changed file) that must make it vanish."""
    guards: bool = True
    """Off: the oracle alone decides, whatever fault it is; for comparison."""
    confidence: float = 0.95
    """Of the whole reduction, where the fault is a flaky one."""


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
    fault: str = ""
    """The original's Fault, in one line."""
    fingerprint: Mapping[str, Any] = field(default_factory=dict)
    """The original's Fault and the repro's, all fields, by what the instruments saw: `original` and `repro`."""
    same: str = ""
    """Why this is the same fault, or what is not known."""
    controls: Mapping[str, str] = field(default_factory=dict)
    """How each control fares on the original."""
    held: Mapping[str, str] = field(default_factory=dict)
    """How those that made the original pass fare on the repro."""
    others: tuple[str, ...] = ()
    """Other faults that were met, each with the file that shows it."""
    guarded: str = ""
    """Whether masks, bounds and initialised inputs are in place."""
    slips: int = 0
    """Accepted steps that a control refuted, and drifts that a fingerprint did."""
    rates: Mapping[str, str] = field(default_factory=dict)
    """Of a flaky fault: how often the original and the repro show it, with intervals."""

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
    chosen, options = _chosen(options)
    named = controls.chosen(options.controls, options.control_environment, options.control_patches, program)
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
        plan = _perturbed(plan, program, journal)
        repeats = Repeated(plan.rate, plan.reference, confidence=options.confidence) if plan.rate else None
        judge = Judge(plan.oracle, plan.pool, dry=plan.dry, predicts=plan.dry_predicts, repeats=repeats)
        guards: Guards | None = None
        finds = Finds(folder / "other_faults", _context(path, plan, options), resumed=journal.resumed)
        try:
            for line in _found(plan):
                say(line)
            original = program.with_text(perturbing.applied(plan.variant, program.text)) if plan.variant else program
            if options.guards and plan.oracle.needs_run:
                guards = _guards(original, plan, judge, named, options)
                guards.insist()
                if guards.history:
                    judge.forget()
                    say("the fault vanishes when launches are serialised: no verdict is taken on credit")
            ready = time.monotonic()
            reduction = reduce_program(
                original,
                passes=PASSES,
                judge=judge,
                journal=journal,
                watch=judge.values if plan.oracle.needs_run else None,
                lifts=_lifts(original, judge, plan, say) if _may_lift(plan, options) else None,
                instrument=lambda watched: instrument(watched, watchable(watched)),
                confirm=judge.confirm if plan.mode != "cold" or repeats else None,
                probe=judge.probe if plan.dry_predicts or (repeats and plan.gpu) else None,
                checkpoint=_checkpoint(plan),
                guard=guards.guard if guards else None,
                guard_lag=width,
                identify=guards.identify if guards and guards.identifies else None,
                identify_first=_first_fingerprint(plan),
                drifted=guards.drifted if guards else lambda verdict: None,
                found=lambda candidate, verdict: finds.consider(candidate, verdict.other) if verdict.other else None,
                layout=layout,
                progress=lambda event: progress(event, judge),
                insist=judge.insist,
                seed=journal.header["seed"],
                width=journal.header["width"],
                eager=_eager(plan, repeats),
                flaky=plan.rate is not None,
                keep=sorted(options.keep),
                skip=options.skip,
                stop=stop,
                deadline=ready + options.max_time if options.max_time else None,
            )
            searched = time.monotonic()
            best, runs = reduction.program.text, options.final_runs or _final_runs(plan)
            verified = _verify(best, output, plan, options, runs)
            sound = _sound(verified, runs, plan.rate)
            if not sound and reduction.verified not in (program, reduction.program):
                best = reduction.verified.text
                verified = _verify(best, output, plan, options, runs)
            evidence = guards.evidence(best) if guards else None
            ended = time.monotonic()
        finally:
            if guards:
                guards.close()
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
        others=tuple(_told(find) for find in finds.found),
        guarded=guarded.report(program, program.with_text(best)),
        slips=reduction.slips + len(reduction.drifts),
        rates=_rates(plan.rate, verified, runs),
        **_evidence(evidence, guards, reduction),
    )
    resulting.write(folder, path, options, result, versions(options.python, setup.environment, gpu=plan.gpu))
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
    chosen, options = _chosen(options)
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
        twins=chosen.twins if chosen else (),
        sanitizer=chosen.sanitizer if chosen else "",
        tell=chosen is not None and chosen.alone,
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


def _guards(
    original: Program, plan: planning.Plan, judge: Judge, named: Sequence[controls.Control], options: Options
) -> Guards:
    """The guards of this reduction: they begin with the original at once, beside the search."""
    repeats, on_steps = _repeats(judge.repeats)
    reference = plan.oracle.reference if isinstance(plan.oracle, Same) else None
    script, setup = plan.pool.script, plan.pool.setup
    device = reference is not None and reference.fault.phase == "device"
    limit = plan.pool.seconds + plan.pool.extra

    def look(text: str) -> Fault | None:
        def once(_: int) -> Fault | None:
            judge.count("fingerprint")
            return examine.fingerprint(text, script, setup, seconds=limit)

        if judge.repeats is None:
            return once(0)
        with ThreadPoolExecutor(4) as threads:
            return max(threads.map(once, range(LOOKS)), key=_known_fields, default=None)

    def run(text: str, way: Way) -> Run:
        judge.count("control")
        return plan.pool.run(text, way=way)

    return Guards(
        original,
        judge=judge,
        reference=reference,
        controls=controls.Controls(run, plan.oracle, reference=plan.reference, repeats=repeats),
        stepwise=controls.Controls(run, plan.oracle, reference=plan.reference, repeats=on_steps),
        chosen=named,
        standard=controls.standard(plan.gpu) if reference is not None and reference.fault.phase != "python" else (),
        # What the instruments add to a compiler's or Python's own words is nothing.
        examine=look if device and (plan.gpu or options.arch) else None,
    )


LOOKS = 8
"""Times that the instruments look at a flaky fault."""


def _known_fields(fault: Fault | None) -> int:
    return sum(map(bool, astuple(fault))) if fault is not None else -1


def _repeats(repeats: Repeated | None) -> tuple[int, int]:
    """Clean runs that make a control one that passes, on the original and on an accepted step.

    By chance a control must hardly ever pass on the original: each step would be held against it. On a step, where one
    sighting decides, a slip that two runs miss is seen by those of the next steps.
    """
    return (clean_runs(repeats.goal, 0.001), clean_runs(repeats.goal, 0.5)) if repeats else (1, 1)


def _context(path: Path, plan: planning.Plan, options: Options) -> Context:
    command = shlex.join(["shrink", "{file}", "--check", "--arch", f"sm_{options.arch}"]) if options.arch else ""
    how = f"in {'a cold process' if plan.mode == 'cold' else f'a run of mode {plan.mode}'}"
    plain = shlex.join(["python", "{file}", *options.argv])
    return Context(original=path.name, asked=plan.oracle.spec, mode=how, command=command or plain)


def _told(find: Find) -> str:
    return f"{find.fault} ({find.lines} lines, {os.path.relpath(find.path)})"


FLAKY_RUNS = 20
"""Clean runs of the result of a flaky fault: enough for an interval that says something."""


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


def _rates(rate: Rate | None, verified: int, runs: int) -> dict[str, str]:
    return {} if rate is None else {"the original": str(rate), "the repro": str(Rate(verified, runs))}


def _evidence(evidence: Evidence | None, guards: Guards | None, reduction: Reduction) -> dict[str, Any]:
    """The fields of a Result that say why this is the same fault."""
    if evidence is None or guards is None:
        return {"same": "nobody looked whether this is the same fault: the guards are off"}
    fault, now = evidence.original, evidence.repro
    known = [f"{one.control.name} {one.outcome.value}" for one in evidence.held]
    parts = []
    if fault is not None:
        looked = now is not None and now.instruction
        parts.append(
            f"by the instruments ({now.instruction}, {now.space} memory)" if now is not None and looked else
            "by class and message, in each accepted step"
        )  # fmt: skip
    if known:
        parts.append(f"under controls: {', '.join(known)}")
    slips = [f"{reduction.slips} steps refused by controls"] * bool(reduction.slips)
    slips += [f"{len(reduction.drifts)} drifts undone"] * bool(reduction.drifts)
    if evidence.difference:
        same = f"NOT the same fault: {evidence.difference}"
    elif fault is None:
        same = "the original shows no fault of its own to compare: the oracle alone decides"
    else:
        same = "same fault: " + "; ".join([*parts, *slips])
        if not known:
            same += "; not known: no control makes the original pass"
    return {
        "fault": str(fault or ""),
        "fingerprint": {
            "original": asdict(fault) if fault else None,
            "repro": asdict(now) if now else None,
        },
        "same": same,
        "controls": {one.control.name: f"{one.outcome.value}: {one.why}" for one in evidence.controls},
        "held": {one.control.name: f"{one.outcome.value}: {one.why}" for one in evidence.held},
    }


def _checkpoint(plan: planning.Plan) -> int:
    """Candidates between two confirmations, so many that a confirmation is there when it is looked at."""
    if plan.dry_predicts:
        return 50  # in a lane: half a second
    if plan.gpu:
        return 200  # in a cold process: five
    return 1 << 30  # a cold process takes seconds of the few cores that judge the candidates: one at the end


def _first_fingerprint(plan: planning.Plan) -> int:
    """Candidates before the first full fingerprint, so many that the last one asked for is there: it takes some ten
    seconds on a GPU."""
    if plan.dry_predicts:
        return 300
    return 100 if plan.gpu else 50


def _jobs(options: Options) -> int:
    return options.jobs or os.cpu_count() or 1


def _may_lift(plan: planning.Plan, options: Options) -> bool:
    return plan.oracle.needs_run and "lift" not in options.skip


def _perturbed(plan: planning.Plan, program: Program, journal: Journal) -> planning.Plan:
    """A flaky fault made likelier, if something does so; the same thing in a resumed reduction."""
    known = journal.recall_perturbed()
    plan = planning.perturbed(plan, program.text, perturbing.Variant(**known) if known else None)
    if plan.variant and not known:
        journal.perturbed(asdict(plan.variant))
    return plan


def _eager(plan: planning.Plan, repeats: Repeated | None) -> float:
    """What a faulting try costs against a passing one."""
    price = EAGER if plan.gpu and not plan.dry_predicts else 1.0
    return repeats.eager(price) if repeats else price


def _lifts(program: Program, judge: Judge, plan: planning.Plan, say: Say) -> Callable[[], Sequence[str]]:
    """Runs the original once more and makes scripts of its faulty launch. Asked once, by the engine."""

    def lifts() -> Sequence[str]:
        run = judge.capture(program)
        for obstacle in lift.obstacles(run):
            say(f"a launch could not be lifted out of the program: {obstacle}")
        texts = lift.candidates(run)
        return [perturbing.applied(plan.variant, text) for text in texts] if plan.variant else texts

    return lifts


def _chosen(options: Options) -> tuple[Oracle | None, Options]:
    """The oracle asked for, and the options that it leaves."""
    chosen = _oracle(options, Path.cwd())
    _check_limit(chosen, options)
    if chosen is not None and chosen.sanitizer:
        if options.arch is not None:
            raise UsageError(f"--oracle sanitizer:{chosen.sanitizer} needs a GPU, and --arch launches nothing")
        sanitizer.required(chosen.sanitizer, options.python, {**os.environ, **options.environment})
        options = replace(options, mode="cold")
    return chosen, options


def _check_limit(chosen: Oracle | None, options: Options) -> None:
    if chosen is not None and chosen.alone and options.timeout is None and chosen.limit is None:
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
    asked = all_of(
        [parse(spec, folder=folder) for spec in options.oracle], [parse(spec, folder=folder) for spec in options.reject]
    )
    return same_fault(asked, strict=options.guards)


def _adopt(run: Run, options: Options, folder: Path, say: Say) -> Oracle:
    spec = planning.adopted(run)
    say(f"no --oracle given: adopted the fault seen, --oracle {shlex.quote(spec)}")
    asked = all_of([parse(spec, folder=folder)], [parse(reject, folder=folder) for reject in options.reject])
    return same_fault(asked, strict=options.guards)


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
        "controls": [*options.controls, *options.control_environment, *map(str, options.control_patches)],
        "guards": options.guards,
        "confidence": options.confidence,
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
    oracle = plan.oracle
    as_user = options.arch is None and not (oracle.needs_text or oracle.wants or oracle.twins or oracle.sanitizer)

    def once(_: int) -> bool:
        if as_user:
            with tempfile.TemporaryDirectory(dir=setup.scratch, ignore_cleanup_errors=True) as cache:
                run = run_file(
                    options.python,
                    output,
                    options.argv,
                    environment={**os.environ, **options.environment, "TRITON_CACHE_DIR": cache},
                    cwd=script.cwd,
                    seconds=options.timeout or plan.pool.seconds + (planning.IMPORTS if plan.oracle.limit else START),
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
    if options.arch is None and not (plan.oracle.needs_text or plan.oracle.wants or plan.oracle.twins):
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
