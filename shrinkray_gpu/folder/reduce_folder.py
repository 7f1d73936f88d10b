"""One reduction of a folder, in the order of time: the first runs, the search, the final check."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from shrinkray_gpu.errors import NotReproduced, UsageError
from shrinkray_gpu.folder.contents import FolderContents, read_folder, size_on_disk
from shrinkray_gpu.folder.copies import FolderCopy
from shrinkray_gpu.folder.families import families
from shrinkray_gpu.folder.options import FolderOptions
from shrinkray_gpu.folder.result_folder import ResultFolder, check_output
from shrinkray_gpu.folder.tree import FileTree, size, written
from shrinkray_gpu.folder.trial import CommandTrial, command_trial, ending, limit, seen, wrongs
from shrinkray_gpu.intermediate.search import IrSearch, IrTally, TextForm
from shrinkray_gpu.oracle import describe, parse, statistics
from shrinkray_gpu.oracle.verdict import Verdict
from shrinkray_gpu.runner.fence import OPENED, advice, refused
from shrinkray_gpu.runner.inside.process import landlock
from shrinkray_gpu.runner.run import Run

Say = Callable[[str], None]
FIRST_RUNS = 3
"""Runs that show whether the fault shows each time."""
MORE_RUNS = 12
"""Runs in all where it does not."""
COARSE = 8
"""Parts of a folder that are tried first, by all kinds of changes, before smaller ones: a build of it all is slow."""
MOST_TRIES = 20
"""Runs of one candidate at most."""


@dataclass(frozen=True)
class FolderResult:
    """What came of it."""

    output: Path
    script: str
    """The name of the script in it that runs the command."""
    shows: str
    files: tuple[int, int]
    lines: tuple[int, int]
    bytes: tuple[int, int]
    carried: int
    """Files and folders that are only carried along, and that the fault needs."""
    tally: IrTally
    unknown: int
    """Tries that told nothing."""
    seconds: float
    ended: str
    """`done`, `out of time` or `stopped`."""
    refuted: str = ""
    """What the result does instead, in a fresh copy; empty if it shows the fault."""

    def to_json(self) -> dict[str, Any]:
        return {
            "ended": self.ended,
            "fault": self.shows,
            "script": self.script,
            "files": list(self.files),
            "lines": list(self.lines),
            "bytes": list(self.bytes),
            "carried": self.carried,
            "tries": self.tally.tries,
            "unknown": self.unknown,
            "seconds": round(self.seconds, 2),
        }


def reduce_folder(
    root: Path,
    options: FolderOptions,
    output: Path,
    *,
    say: Say = lambda text: None,
    stop: Callable[[], bool] = lambda: False,
    shown: Callable[[FileTree, IrTally], None] = lambda tree, tally: None,
) -> FolderResult:
    """The smallest folder in which the command shows the same fault, written to `output`.

    `shown` is told each smaller one. Raises UsageError for bad input, NotReproduced where the command does not fail, or
    not so.
    """
    started = time.monotonic()
    contents = read_folder(root)
    check_output(output, contents.root)
    with _own_folder(contents, options) as own:
        first = FolderCopy(contents, own / "0")
        trial = calibrated(contents, first, options, say)
        assert trial.oracle is not None
        copies: SimpleQueue[FolderCopy] = SimpleQueue()
        copies.put(first)
        for number in range(1, 1 if trial.oracle.needs.timing else options.jobs):
            copies.put(FolderCopy(contents, own / str(number)))
        unknown: list[str] = []

        def faults(tree: FileTree, _: str) -> tuple[bool, bool]:
            copy = copies.get()
            try:
                copy.prepare(tree)
                verdict = trial.shows(copy)
            finally:
                copies.put(copy)
            if not verdict.is_known:
                unknown.append(verdict.why)
            return verdict.is_known, verdict.faults

        whole = FileTree.of(contents)
        result = ResultFolder(contents, output, options.command, trial.oracle.spec)

        def better(tree: FileTree, tally: IrTally) -> None:
            result.note(tree)
            shown(tree, tally)

        search = IrSearch(
            TextForm(written, size),
            faults,
            families(),
            until=started + options.max_time,
            seed=options.seed,
            jobs=copies.qsize(),
            coarse=COARSE,
            stop=stop,
            shown=better,
        )
        try:
            smallest = search.run(whole)
            result.write(smallest)
        finally:
            result.close()
        if search.tally.broken:
            say(f"{search.tally.broken} changes could not be made, by a bug of shrink's own, which does no harm")
        verdict = _again(contents, output, trial, own)
    return FolderResult(
        output=output,
        script=result.name,
        shows=trial.oracle.spec,
        files=(len(whole.texts), len(smallest.texts)),
        lines=(whole.lines, smallest.lines),
        bytes=(whole.bytes, smallest.bytes),
        carried=len(smallest.carried),
        tally=search.tally,
        unknown=len(unknown),
        seconds=time.monotonic() - started,
        ended=search.ended,
        refuted="" if verdict.faults else verdict.why,
    )


def check_folder(root: Path, options: FolderOptions, *, say: Say = lambda text: None) -> str:
    """The SPEC that a reduction would begin with. Raises as `reduce_folder` does."""
    contents = read_folder(root)
    with _own_folder(contents, replace(options, jobs=1)) as own:
        trial = calibrated(contents, FolderCopy(contents, own / "0"), options, say)
    assert trial.oracle is not None
    return trial.oracle.spec


def calibrated(contents: FolderContents, copy: FolderCopy, options: FolderOptions, say: Say) -> CommandTrial:
    """The trial of candidates, by the first runs of the command in a copy of the whole folder."""
    _check_command(contents, options)
    trial = command_trial(options)
    say(contents.told)
    if named := [path for path, text in contents.texts.items() if str(contents.root) in text]:
        say(
            f"{', '.join(named[:3])}{' and more' if len(named) > 3 else ''}: names {contents.root} by its absolute "
            "path, and what it finds there is not what a candidate changed"
        )
    if not landlock.level():
        say("this kernel has no Landlock: nothing keeps the command from writing outside of its copy")
    whole = FileTree.of(contents)

    def again(with_trial: CommandTrial, *, confined: bool = True) -> Run:
        copy.prepare(whole)
        return with_trial.run(copy, confined=confined)

    runs = [again(trial)]
    if trial.oracle is None:
        if not (spec := seen(runs[0])):
            raise NotReproduced(
                f"the command shows no fault that could be adopted, and no --oracle names one. {describe(runs[0])}"
            )
        say(f"the fault: {spec!r}, since no --oracle names one")
        trial = replace(trial, oracle=parse(spec, folder=Path.cwd()))
    oracle = trial.oracle
    assert oracle is not None

    def first_runs(one: CommandTrial, runs: list[Run], least: int) -> list[Run]:
        """Those that show the fault, of so many runs, or of more where not all do."""
        faulty = [run for run in runs if one.judge(copy, run).faults]
        while len(runs) < least or 0 < len(faulty) < len(runs) < MORE_RUNS or len(runs) < FIRST_RUNS and faulty:
            runs.append(again(one))
            faulty += [run for run in runs[-1:] if one.judge(copy, run).faults]
        return faulty

    faulty = first_runs(trial, runs, FIRST_RUNS)
    if not faulty:
        opened = replace(trial, left_open=OPENED)
        within = [again(opened)]
        faulty = first_runs(opened, within, 1)
        if not faulty:
            raise NotReproduced(_why_not(contents, copy, trial, runs[0], again(trial, confined=False)))
        say("the fault needs what the fence refuses, so candidates have only its part for writes")
        trial, runs = opened, within
    trial = replace(
        trial,
        oracle=oracle.calibrate(faulty[0]),
        said=frozenset().union(*map(wrongs, runs)) if options.guards else None,
        endings=frozenset(map(ending, faulty)) if options.guards else None,
        seconds=limit(trial, runs),
    )
    if oracle.spec.startswith(("signal:", "exit:")):
        say(
            f"{oracle.spec} is all that is asked, and any bug that ends so counts as the same: better ask for words, "
            "as -fsanitize=address prints them"
        )
    if len(faulty) < len(runs):
        rate = statistics.lower(len(faulty), len(runs), 1 - options.confidence)
        tries = min(MOST_TRIES, statistics.clean_runs(rate, 1 - options.confidence))
        say(f"flaky: the fault shows in {len(faulty)} of {len(runs)} runs, so up to {tries} runs decide a candidate")
        trial = replace(trial, tries=tries)
    return trial


def _why_not(contents: FolderContents, copy: FolderCopy, trial: CommandTrial, run: Run, unfenced: Run) -> str:
    assert trial.oracle is not None
    if trial.judge(copy, unfenced).faults:
        places = refused(run, copy.place)
        told = advice(places) or "it writes outside of the folder, where no candidate may: allow that by --writable DIR"
        return f"the fault shows only without the fence: {told}"
    hint = ""
    if not run.exit and trial.oracle.needs.run and trial.oracle.spec.lower() in run.stderr.lower():
        hint = " It prints these words and ends well: ask by --oracle 'build:REGEX' for what it prints."
    return (
        f"{' '.join(trial.options.command)} does not show {trial.oracle.spec!r} in a copy of {contents.root} "
        f"({trial.judge(copy, run).why}).{hint} {describe(run)}"
    )


def _again(contents: FolderContents, output: Path, trial: CommandTrial, own: Path) -> Verdict:
    """Whether the result shows the fault, in a fresh copy of it."""
    copy = FolderCopy(contents, own / "last")
    copy.place.rmdir()
    shutil.copytree(output, copy.place, symlinks=True)
    return trial.shows(copy)


def _check_command(contents: FolderContents, options: FolderOptions) -> None:
    program = options.command[0]
    for word in options.command:
        if str(contents.root) in word:
            raise UsageError(
                f"{word} names the folder by its absolute path, and candidates run in a copy: write it as it is seen "
                f"from {contents.root}"
            )
    if os.sep not in program:
        if shutil.which(program, path=options.environment.get("PATH")) is None:
            raise UsageError(f"there is no program {program!r}, neither in {contents.root} nor on PATH")
        return
    place = contents.root / program
    if not place.is_file():
        raise UsageError(f"there is no {program} in {contents.root}, which is where the command runs")
    if not os.access(place, os.X_OK):
        raise UsageError(f"{place} is not executable: chmod +x it, or write the program that runs it before it")


@contextmanager
def _own_folder(contents: FolderContents, options: FolderOptions) -> Iterator[Path]:
    """A folder for the copies. Raises UsageError where they do not fit in there."""
    with tempfile.TemporaryDirectory(prefix="shrink-", ignore_cleanup_errors=True) as name:
        need, free = size_on_disk(contents) * (options.jobs + 2), shutil.disk_usage(name).free
        if need > free:
            raise UsageError(
                f"{options.jobs} copies of what {contents.root} carries along need {need / 1e9:.1f} GB, and "
                f"{name} has {free / 1e9:.1f} GB: set TMPDIR to a place with more, or lower --jobs"
            )
        yield Path(name).resolve()
