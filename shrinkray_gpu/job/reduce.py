"""The whole job: plan, search, final check, result on disk. `shrink` calls this, and so may Python code."""

from __future__ import annotations

import os
import shlex
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from shrinkray_gpu.cells.cell import CellEngine
from shrinkray_gpu.errors import NotReproduced, UsageError
from shrinkray_gpu.events import Checked, Finished, Hear, Phase, Verified, one_at_a_time, saying
from shrinkray_gpu.evidence.other_faults import OtherFaults
from shrinkray_gpu.evidence.secrets_found import Publish, published_texts
from shrinkray_gpu.evidence.versions import __version__, versions
from shrinkray_gpu.job import attach, folder_gone, kernel_part
from shrinkray_gpu.job.asked import (
    building,
    check_controls,
    check_keep,
    check_writable,
    options_of,
    oracle_of,
    places,
    program_of,
    settings_of,
    setup_of,
    where_it_runs,
)
from shrinkray_gpu.job.conclusion import conclude, final_check_error, result_of
from shrinkray_gpu.job.inquiry import Inquiry
from shrinkray_gpu.job.ready import prepare, user_program
from shrinkray_gpu.job.reduction_events import heard_by, started, tell_ready
from shrinkray_gpu.job.search_run import search
from shrinkray_gpu.job.second_result import write_second_result
from shrinkray_gpu.job.try_cells import cluster_of, hosts_of
from shrinkray_gpu.job.whose import Whose
from shrinkray_gpu.judging.tiered_test import TieredTest
from shrinkray_gpu.options import Options, Say, display_name
from shrinkray_gpu.oracle import Oracle
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.native.native_tree import can_parse
from shrinkray_gpu.reduction.outcome import ProgressEvent
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.result import result_file
from shrinkray_gpu.result.summary import Result, context_of, findings
from shrinkray_gpu.runner.extensions import lacking
from shrinkray_gpu.runner.interpreter import check_python
from shrinkray_gpu.runner.scratch_folder import remove_folder
from shrinkray_gpu.runner.zygotes import ZYGOTES
from shrinkray_gpu.same_fault import controls
from shrinkray_gpu.start import Start, begin

UNREAD = (
    "of the CUDA C++ in this script only #if is resolved, and the Python around it is reduced: its grammar is missing "
    "(pip install tree-sitter tree-sitter-cuda)"
)


def reduce(
    path: Path | str,
    options: Options | None = None,
    *,
    say: Say | None = None,
    progress: Callable[[ProgressEvent, TieredTest], None] | None = None,
    stop: Callable[[], bool] | None = None,
    on_event: Hear | None = None,
    **named: Any,
) -> Result:
    """Reduce the script at `path` to the smallest one that still shows the fault: `reduce("failing.py",
    oracle="misaligned address", arch="sm_90")`.

    `named` are fields of Options, on top of `options`. An oracle may be one SPEC, an architecture a name, and a place a
    string. `on_event` is called with each event of `shrinkray_gpu.events`, one at a time. `say` is called with
    each line for the user, `progress` with each step of the engine and the test that judges the candidates. `stop`
    is asked between candidates, and True ends the search with the best so far.

    Raises UsageError (bad input), NotReproduced (the original does not show the fault), FinalCheckFailed (the result
    did not show it in a clean process; the best verified program is written all the same) or FolderGone (somebody
    deleted its folder meanwhile).
    """
    path, options, hear = Path(path), options_of(options or Options(), named), one_at_a_time(on_event)
    output, folder = places(path, options)
    told = saying(say, hear)
    with (
        cluster_of(options, told) as (cluster, options),
        _nothing_of_a_refusal(folder) as held,
        folder_gone.folder_watch(path, output) as opened,
        ZYGOTES.wanted(told),
    ):

        def begun(journal: Journal) -> None:
            held.append(journal)
            opened(journal)

        return _reduced(
            path,
            options,
            told,
            progress or (lambda event, test: None),
            stop or (lambda: False),
            begun,
            hear,
            cluster,
        )


def _reduced(
    path: Path,
    options: Options,
    say: Say,
    progress: Callable[[ProgressEvent, TieredTest], None],
    stop: Callable[[], bool],
    opened: Callable[[Journal], None],
    hear: Hear,
    cluster: CellEngine | None,
) -> Result:
    first = time.monotonic()
    options = where_it_runs(path, options, say)
    program = program_of(path, options)
    output, folder = places(path, options)
    check_writable(path, output, folder)
    check_keep(program, options)
    if options.strict:
        Publish(strict=True).check(published_texts(options.argv, options.environment, "", program.text))
    check_python(options.python)
    chosen, options = oracle_of(options, say)
    named = controls.named_controls(options.controls, options.control_environment, options.control_patches, program)
    check_controls(named, chosen, options)
    _say_doubt(chosen, say)
    given = user_program(path, program, options, chosen, building(program, setup_of(path, folder, options)), say)
    hosts = None if cluster is None else hosts_of(cluster, folder, given.script, given.setup, options.accelerator)
    given = replace(given, limits=replace(given.limits, hosts=hosts))
    hear(started(path, options, program, (output, folder)))
    width = max(6, min(32, 3 * given.limits.jobs))
    with Journal.open(
        folder,
        original=program,
        seed=options.seed,
        width=width,
        settings=settings_of(options, given.setup),
        version=__version__,
        resume=options.resume,
        restart=options.restart,
    ) as journal:
        opened(journal)
        if journal.damaged:
            say(f"left out of {journal.path}: {journal.damaged} damaged lines; what they told is asked anew")
        for left in Path(given.setup.scratch).iterdir():  # by one that was killed
            remove_folder(left)
        _say_what_is_lacking(program, options, say)
        hear(Phase("run"))
        say(f"running {' '.join([display_name(path, options), *map(shlex.quote, options.argv)])} as it is ...")
        start = begin(given, journal, say)
        hear(Phase("calibrate"))
        ready = prepare(start, given, named, options, journal, say)
        tell_ready(ready, hear)
        options = replace(options, argv=ready.plan.pool.script.argv)
        finds = OtherFaults(folder / "other_faults", context_of(path, ready.plan, options), resumed=journal.resumed)
        inquiry = Inquiry(ready, given, path, output, options, say, stop)
        with inquiry, closing(ready):  # which is closed first: what the inquiry waits for ends then
            if options.kernel_only:
                kernel_part.check_plan(ready.plan, lifted=ready.start.alone or bool(ready.start.history))
            begun = time.monotonic()
            hear(Phase("search"))
            progress = heard_by(progress, hear, folder / "best.py")
            reduction = search(ready, program, options, journal, finds, say=say, progress=progress, stop=stop)
            searched = time.monotonic()
            if hosts is not None:
                say(f"runs on the cluster: {hosts}")
            hear(Phase("verify"))
            inquiry.begin_verdict()
            seen = inquiry.begin_attachment if inquiry.wants_attachment(reduction) else lambda *_: None
            end = conclude(ready, reduction, program, output, options, say, seen=seen)
            hear(Verified(str(output), end.final.verified, end.final.runs, end.final.stands))
            checked = time.monotonic()
            measured, known = None, versions(options.python, given.setup.environment, gpu=ready.plan.gpu)
            told = Whose()
            if options.report and not stop():
                hear(Phase("verdict"))
                told = inquiry.verdict(end.comparison, known)
            write_second_result(end, ready.plan, output, options, say=say, stop=stop)
            judged = time.monotonic()
            if end.final.stands and inquiry.wants_attachment(reduction):
                hear(Phase("report"))
                measured = inquiry.measurements(end)
            attached = time.monotonic()
    seconds = {
        "start": begun - first,
        "lift": ready.start.seconds,
        "search": searched - begun,
        "check": checked - searched,
        "verdict": judged - checked,
        "report": attached - judged,
    }
    result = result_of(end, ready, reduction, finds, program, (output, folder), options, seconds=seconds)
    result = replace(result, verdict=told.verdict, known=told.known)
    result_file.write(folder, path, options, result, known)
    if measured is not None:
        facts = result_file.result_fields(path, options, result, known)
        before = ready.start.program.text if options.command else program.text
        result = replace(
            result, attachment=attach.write_attachment(folder, facts, measured, options, before=before, say=say)
        )
    if not end.final.stands:
        raise final_check_error(end.final, output, folder, stopped=reduction.ended in ("stopped", "interrupted"))
    hear(Finished(result.to_json()))
    return result


@contextmanager
def _nothing_of_a_refusal(folder: Path) -> Iterator[list[Journal]]:
    """A program that does not show the fault leaves no folder, nor does bad input without a best so far, unless one was
    there before. The body tells of the journal that it opened: until then the folder may be another's."""
    was_there = os.path.exists(folder)
    held: list[Journal] = []
    try:
        yield held
    except (NotReproduced, UsageError) as error:
        if not was_there and held and (isinstance(error, NotReproduced) or not (folder / "best.py").exists()):
            remove_folder(folder)
        elif not was_there:
            with suppress(OSError):  # another's, who was faster
                os.rmdir(folder)
        raise


def _say_doubt(chosen: Oracle | None, say: Say) -> None:
    """What the user may have meant instead, before the program is run for it."""
    if chosen is not None and chosen.hint:
        say(f"warning: {chosen.hint}")


def _say_what_is_lacking(program: Program, options: Options, say: Say) -> None:
    if program.literals and not can_parse():
        say(UNREAD)
    if options.arch is None and "cpp_extension" in program.text:
        if without := lacking(options.python, os.environ):
            say(f"torch cannot build extensions here (no {without}): our own builder does, in the final check too")


def check(
    path: Path | str,
    options: Options | None = None,
    *,
    say: Say | None = None,
    on_event: Hear | None = None,
    **named: Any,
) -> str:
    """Run the script at `path` as a reduction of it would, and write nothing beside it. Returns the SPEC that it shows.

    `named`, `say` and `on_event` are as for `reduce`. Raises UsageError or NotReproduced as that does. A static fault
    needs this: `python FILE` cannot show it without a GPU.
    """
    path, options = Path(path), options_of(options or Options(), named)
    hear = one_at_a_time(on_event)
    say = saying(say, hear)
    options = where_it_runs(path, options, say)
    program = program_of(path, options)
    check_keep(program, options)
    check_python(options.python)
    chosen, options = oracle_of(options, say)
    turned = controls.named_controls(options.controls, options.control_environment, options.control_patches, program)
    check_controls(turned, chosen, options)
    _say_doubt(chosen, say)
    hear(started(path, options, program, None))
    hear(Phase("run"))
    with tempfile.TemporaryDirectory(prefix="shrink-") as folder:
        say(f"running {' '.join([display_name(path, options), *map(shlex.quote, options.argv)])} as it is ...")
        given = user_program(path, program, options, chosen, setup_of(path, Path(folder), options), say)
        plan = given.plan(Start(program), candidates=False)
        try:
            for line in findings(plan, candidates=False):
                say(line)
        finally:
            plan.close()
    hear(Checked(display_name(path, options), plan.oracle.spec))
    return plan.oracle.spec
