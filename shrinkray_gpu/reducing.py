"""The whole job: plan, search, final check, result on disk. `shrink` calls this, and so may Python code."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path

from shrinkray_gpu import __version__, cu_output, lift, lifting, perturbing, reporting, resulting
from shrinkray_gpu import plan as planning
from shrinkray_gpu.errors import FinalCheckFailed, UsageError
from shrinkray_gpu.evidence import controls, examine, guarded, ptxas
from shrinkray_gpu.evidence.finds import Finds
from shrinkray_gpu.evidence.versions import versions
from shrinkray_gpu.final import final_runs, last_standing, sound, verify
from shrinkray_gpu.guarding import Guards
from shrinkray_gpu.judge import Judge
from shrinkray_gpu.lift.beside import settled
from shrinkray_gpu.options import Options as Options
from shrinkray_gpu.options import (
    Say,
    adopting,
    check_asked,
    check_kept,
    check_writable,
    chosen_oracle,
    devices_of,
    jobs_of,
    program_of,
    settings_of,
    setup_of,
)
from shrinkray_gpu.options import building as building
from shrinkray_gpu.options import called as called
from shrinkray_gpu.options import places as places
from shrinkray_gpu.oracle import Fault, Oracle
from shrinkray_gpu.oracle.same import Same
from shrinkray_gpu.oracle.statistics import clean_runs
from shrinkray_gpu.passes import ONE_LAUNCH, PASSES
from shrinkray_gpu.passes.layout import layout
from shrinkray_gpu.passes.observed import instrument
from shrinkray_gpu.passes.typed import watchable
from shrinkray_gpu.reduction.engine import Event, Reduction, reduce_program
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.native.tree import can_parse
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.size import lines, tokens
from shrinkray_gpu.repeating import Repeated
from shrinkray_gpu.runner import gpus
from shrinkray_gpu.runner.extensions import lacking
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Script
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.runner.ways import Way
from shrinkray_gpu.summary import Result as Result
from shrinkray_gpu.summary import command_of, context_of, economy_of, evidence_of, findings, rates_of, told

EAGER = 12.0
"""What a faulting try costs on a GPU against a passing one: a context, of which a device makes 2.4 a second."""
UNREAD = (
    "of the CUDA C++ in this script only #if is resolved, and the Python around it is reduced: its grammar is missing "
    "(pip install 'shrinkray-gpu[cuda]')"
)


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
    program = program_of(path, options)
    output, folder = places(path, options)
    check_writable(path, output, folder)
    check_kept(program, options)
    planning.check_python(options.python)
    chosen, options = chosen_oracle(options)
    named = controls.chosen(options.controls, options.control_environment, options.control_patches, program)
    check_asked(named, chosen, options)
    given = _given(path, program, options, chosen, building(program, setup_of(path, folder, options)), say)
    width = max(6, min(32, 3 * given.jobs))
    with Journal.open(
        folder,
        original=program,
        seed=options.seed,
        width=width,
        settings=settings_of(options),
        version=__version__,
        resume=options.resume,
        restart=options.restart,
    ) as journal:
        for left in Path(given.setup.scratch).iterdir():  # by one that was killed
            shutil.rmtree(left, ignore_errors=True)
        if program.literals and not can_parse():
            say(UNREAD)
        if options.arch is None and "cpp_extension" in program.text:
            if without := lacking(options.python, os.environ):
                say(f"torch cannot build extensions here (no {without}): our own builder does, in the final check too")
        say(f"running {called(path, options)} as it is ...")
        start = lifting.begin(given, journal, say)
        ready = _made_ready(start, given, named, options, journal, say)
        start, plan, judge, guards = ready.start, ready.plan, ready.judge, ready.guards
        options = replace(options, argv=plan.pool.script.argv)
        finds = Finds(folder / "other_faults", context_of(path, plan, options), resumed=journal.resumed)
        try:
            begun = time.monotonic()
            reduction = _searched(ready, options, journal, finds, say=say, progress=progress, stop=stop)
            searched = time.monotonic()
            best, runs = reduction.program.text, options.final_runs or final_runs(plan)
            with ThreadPoolExecutor(1, thread_name_prefix="evidence") as beside:
                # Where chance has a part in the fault, work beside the clean runs would change their rate.
                looked = beside.submit(guards.evidence, best) if guards and plan.rate is None else None
                verified = verify(best, output, plan, options, runs)
            stands, confirmed = sound(verified, runs, plan.rate), False
            passed_over = ""
            if not stands:
                larger = reduction.verified  # of a flaky fault, which one clean run cannot tell
                if plan.rate is None:
                    larger = last_standing(
                        reduction.line, lambda each: verify(each.text, output, plan, options, runs=1) == 1
                    )
                confirmed = larger not in (program, reduction.program)
                if confirmed:
                    best = larger.text
                    verified = verify(best, output, plan, options, runs)
                    stands = plan.rate is None and sound(verified, runs, plan.rate)
                    passed_over = f"{reduction.program.size.tokens} tokens: {folder / 'best.py'}" if stands else ""
            evidence = looked.result() if looked else None
            if guards and (evidence is None or best != reduction.program.text):
                evidence = guards.evidence(best)
            used = {"original": ptxas.told(plan.reference.builds)} if plan.reference.builds else {}
            if used:
                used["repro"] = ptxas.told(plan.pool.cold(best).builds)
            plain = cu_output.make(best, output, plan, options) if options.cu else ""
            ended = time.monotonic()
            shown, _ = settled(best, output)
            command = command_of(output, options, plan)
            measured = None
            if options.report and stands and reduction.ended in ("done", "out of time") and not stop():
                seen = (evidence.repro or evidence.original) if evidence else None
                shows = str(seen or plan.oracle.spec)
                size = lines(program.text)
                measured = reporting.at_the_end(
                    shown, output, path, plan, options, shows=shows, check=command, lines=size, say=say, stop=stop
                )
            attached = time.monotonic()
        finally:
            ready.close()
    result = Result(
        output=output,
        text=shown,
        spec=plan.oracle.spec,
        before=(lines(program.text), tokens(program.text)),
        after=(lines(shown), tokens(shown)),
        tries=dict(judge.tries),
        seconds={
            "start": begun - started,
            "lift": start.seconds,
            "search": searched - begun,
            "check": ended - searched,
            "report": attached - ended,
            "gpu": judge.lane_seconds if plan.gpu else 0.0,
        },
        mode=plan.mode,
        verified=verified,
        final_runs=runs,
        ended=reduction.ended,
        command=command,
        lifted=start.told,
        others=tuple(told(find) for find in finds.found),
        passed_over=passed_over,
        guarded=guarded.report(program, program.with_text(best)),
        slips=reduction.slips + len(reduction.drifts),
        ptxas=used,
        cu=plain,
        economy=economy_of(judge, reduction),
        rates=rates_of(plan.rate, verified, runs),
        **evidence_of(evidence, reduction, shown, guards=options.guards),
    )
    known = versions(options.python, given.setup.environment, gpu=plan.gpu)
    resulting.write(folder, path, options, result, known)
    if measured is not None:
        facts = resulting.told(path, options, result, known)
        before = start.program.text if options.command else program.text
        result = replace(result, attachment=reporting.written(folder, facts, measured, options, before=before, say=say))
    if not stands:
        shows = f"{verified} of {runs} clean runs show it"
        raise FinalCheckFailed(
            "the smallest program does not show the fault in every clean run, as the original does. "
            + (
                f"The smallest that a cold run confirmed is in {output} ({shows}), the smaller one in "
                f"{folder / 'best.py'}"
                if confirmed
                else f"It is in {output} ({shows}); no larger one on the way was confirmed by a cold run. Where chance "
                "has a part in it, --mode cold judges each candidate as the final check does"
            )
        )
    return result


def check(path: Path, options: Options, *, say: Say = lambda text: None) -> str:
    """Run the script at `path` as a reduction of it would, and write nothing beside it. Returns the SPEC that it shows.

    Raises UsageError or NotReproduced as `reduce` does. A static fault needs this: `python FILE` cannot show it without
    a GPU.
    """
    program = program_of(path, options)
    planning.check_python(options.python)
    chosen, options = chosen_oracle(options)
    with tempfile.TemporaryDirectory(prefix="shrink-") as folder:
        given = _given(path, program, options, chosen, setup_of(path, Path(folder), options), say)
        plan = given.plan(lifting.Start(program))
        try:
            for line in findings(plan):
                say(line)
        finally:
            plan.close()
    return plan.oracle.spec


def _given(
    path: Path, program: Program, options: Options, chosen: Oracle | None, setup: Setup, say: Say
) -> lifting.Given:
    """The program, and how the user runs it."""
    script = Script(
        path.absolute(),
        argv=options.argv,
        cwd=(options.cwd or Path.cwd()).absolute(),
        asserts=options.arch is None or chosen is None or chosen.asserts,
        wants=tuple(sorted(chosen.wants)) if chosen else (),
        twins=chosen.twins if chosen else (),
        sanitizer=chosen.sanitizer if chosen else "",
        tell=chosen is not None and chosen.alone,
        name=called(path, options) if options.command else "",
    )
    return lifting.Given(
        program,
        script,
        setup,
        chosen,
        adopting=lambda run: adopting(run, options, Path.cwd(), say),
        jobs=jobs_of(options),
        timeout=options.timeout,
        devices=devices_of(setup),
        mode=options.mode,
        keep=options.keep,
        skip=options.skip,
        controls=bool(options.control_patches),
        look=_look(setup, options) if options.guards else None,
        command=options.command,
    )


def _look(setup: Setup, options: Options) -> Callable[[str, Script, Run], Fault | None] | None:
    """What the instruments say of a program, before there is a plan; None where there is no GPU to ask, nor --arch."""
    if setup.arch is None and not gpus.present():
        return None
    seconds = options.timeout or planning.PATIENCE
    return lambda text, script, run: examine.fingerprint(text, script, setup, seconds=seconds, run=run)


@dataclass(frozen=True)
class _Ready:
    """All that a search needs."""

    start: lifting.Start
    program: Program
    """To be reduced: the one to begin with, made to show a flaky fault more often if something does that."""
    plan: planning.Plan
    repeats: Repeated | None
    judge: Judge
    guards: Guards | None

    def close(self) -> None:
        if self.guards:
            self.guards.close()
        self.judge.close()
        self.plan.close()


def _made_ready(
    start: lifting.Start,
    given: lifting.Given,
    named: Sequence[controls.Control],
    options: Options,
    journal: Journal,
    say: Say,
) -> _Ready:
    """Calibrate and set the guards up; with the user's own program, where a lifted one will not do after all."""
    if start.told:
        say(start.told)
    plan = given.plan(start)
    if start.alone and plan.rate is not None:
        plan.close()
        why = f"the launch alone shows the fault in some runs only ({plan.rate})"
        return _made_ready(lifting.without(start, given, why, journal), given, named, options, journal, say)
    plan = _perturbed(plan, start.program, journal)
    repeats = Repeated(plan.rate, plan.reference, confidence=options.confidence) if plan.rate else None
    judge = Judge(
        plan.oracle,
        plan.pool,
        dry=plan.dry,
        predicts=plan.dry_predicts,
        credit=options.credit,
        repeats=repeats,
    )
    judge.tries.update(start.tries)
    if start.history:
        judge.forget()
    variant = plan.variant
    program = start.program.with_text(perturbing.applied(variant, start.program.text)) if variant else start.program
    ready = _Ready(start, program, plan, repeats, judge, None)
    try:
        for line in findings(plan):
            say(line)
        if options.guards and plan.oracle.needs_run:
            ready = replace(ready, guards=guards_of(program, plan, judge, named, options, start.fault))
            _insist(ready, say)
    except UsageError as error:
        ready.close()
        if not start.lifted:
            raise
        return _made_ready(lifting.without(start, given, str(error), journal), given, named, options, journal, say)
    except BaseException:
        ready.close()
        raise
    return ready


def _insist(ready: _Ready, say: Say) -> None:
    """Wait for the controls that the user named, and for the one that tells whether launches must overlap."""
    assert ready.guards is not None
    ready.guards.insist()
    if ready.guards.history:
        ready.judge.forget()
        say("the fault vanishes when launches are serialised: no verdict is taken on credit")


def _searched(
    ready: _Ready,
    options: Options,
    journal: Journal,
    finds: Finds,
    *,
    say: Say,
    progress: Callable[[Event, Judge], None],
    stop: Callable[[], bool],
) -> Reduction:
    plan, judge, guards, repeats = ready.plan, ready.judge, ready.guards, ready.repeats
    width = journal.header["width"]
    if ready.start.lifted:  # the best so far, before anything is tried
        journal.best(ready.program, size=ready.program.size, by="lift")
    # Beforehand the fault did not show, or in some runs only: then it takes the search's own judge to tell.
    asked = not ready.start.alone and (ready.start.reference is None or plan.rate is not None)
    may_lift = asked and plan.oracle.needs_run and "lift" not in options.skip
    return reduce_program(
        ready.program,
        passes=ONE_LAUNCH if ready.start.lifted and ready.start.alone else PASSES,
        judge=judge,
        journal=journal,
        watch=judge.values if plan.oracle.needs_run else None,
        lifts=_lifts(ready.program, judge, plan, say) if may_lift else None,
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
        foresee=judge.foresee if options.ahead else None,
        # Where only the GPU can tell, each try costs a context, and it seldom ends in less: it does not pay there.
        second=options.second and (plan.dry_predicts or not plan.gpu),
        seed=journal.header["seed"],
        width=width,
        eager=_eager(plan, repeats),
        flaky=plan.rate is not None,
        keep=sorted(options.keep),
        skip=options.skip,
        stop=stop,
        deadline=time.monotonic() + options.max_time if options.max_time else None,
    )


def guards_of(
    original: Program,
    plan: planning.Plan,
    judge: Judge,
    named: Sequence[controls.Control],
    options: Options,
    known: Fault | None = None,
) -> Guards:
    """The guards of this reduction: they begin with the original at once, beside the search. `known`: what the
    instruments said of the user's own program, where that was lifted."""
    repeats, on_steps = _repeats(judge.repeats)
    reference = plan.oracle.reference if isinstance(plan.oracle, Same) else None
    script, setup = plan.pool.script, plan.pool.setup
    device = reference is not None and reference.fault.phase == "device"
    own = reference is not None and reference.fault.phase != "python"
    standard = controls.standard(plan.gpu) if own else ()
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
        standard=(*controls.flags(original), *standard),
        # What the instruments add to a compiler's or Python's own words is nothing.
        examine=look if device and (plan.gpu or options.arch) else None,
        # Of a flaky fault one look may have seen nothing but the words.
        known=known if known is not None and (known.instruction or judge.repeats is None) else None,
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


def _perturbed(plan: planning.Plan, program: Program, journal: Journal) -> planning.Plan:
    """A flaky fault made likelier, if something does so; the same thing in a resumed reduction."""
    known = journal.recall_perturbed()
    if known == {}:  # nothing did
        return plan
    plan = planning.perturbed(plan, program.text, perturbing.Variant(**known) if known else None)
    if plan.rate and known is None:
        journal.perturbed(asdict(plan.variant) if plan.variant else {})
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
