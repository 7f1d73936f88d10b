"""The whole job: plan, search, final check, result on disk. `shrink` calls this, and so may Python code."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from shrinkray_gpu import __version__, cu_output, lifting, reporting, resulting
from shrinkray_gpu.errors import FinalCheckFailed
from shrinkray_gpu.evidence import controls, guarded, ptxas
from shrinkray_gpu.evidence.finds import Finds
from shrinkray_gpu.evidence.versions import versions
from shrinkray_gpu.final import final_runs, last_standing, sound, verify
from shrinkray_gpu.judge import Judge
from shrinkray_gpu.lift.beside import settled
from shrinkray_gpu.lifting.kernel_alone import calls
from shrinkray_gpu.options import (
    Options,
    Say,
    building,
    called,
    check_asked,
    check_kept,
    check_writable,
    chosen_oracle,
    places,
    program_of,
    settings_of,
    setup_of,
)
from shrinkray_gpu.preparing import given_of, made_ready
from shrinkray_gpu.reduction.engine import Event
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.native.tree import can_parse
from shrinkray_gpu.reduction.size import lines, tokens
from shrinkray_gpu.runner.extensions import lacking
from shrinkray_gpu.runner.interpreter import check_python
from shrinkray_gpu.searching import search
from shrinkray_gpu.summary import Result, command_of, context_of, economy_of, evidence_of, findings, rates_of, told

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
    check_python(options.python)
    chosen, options = chosen_oracle(options)
    named = controls.chosen(options.controls, options.control_environment, options.control_patches, program)
    check_asked(named, chosen, options)
    given = given_of(path, program, options, chosen, building(program, setup_of(path, folder, options)), say)
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
        ready = made_ready(start, given, named, options, journal, say)
        start, plan, judge, guards = ready.start, ready.plan, ready.judge, ready.guards
        options = replace(options, argv=plan.pool.script.argv)
        finds = Finds(folder / "other_faults", context_of(path, plan, options), resumed=journal.resumed)
        try:
            begun = time.monotonic()
            reduction = search(ready, options, journal, finds, say=say, progress=progress, stop=stop)
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
                # NVRTC tells no figures: nvcc does, of what launches where no GPU is.
                builds = plan.pool.cold(best).builds
                used["repro"] = ptxas.told(builds) or ptxas.told(
                    calls(best, plan.pool.script, plan.pool.setup, options.timeout)
                )
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
    check_python(options.python)
    chosen, options = chosen_oracle(options)
    with tempfile.TemporaryDirectory(prefix="shrink-") as folder:
        given = given_of(path, program, options, chosen, setup_of(path, Path(folder), options), say)
        plan = given.plan(lifting.Start(program))
        try:
            for line in findings(plan):
                say(line)
        finally:
            plan.close()
    return plan.oracle.spec
