"""The command `shrink launches -- COMMAND`: what any program launches, and the launch that fails made again alone."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from shrinkray_gpu.cli.output import echo
from shrinkray_gpu.cli.words import CONTEXT, OneLineComplaints
from shrinkray_gpu.device import error_table
from shrinkray_gpu.errors import NotReproduced, UsageError
from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.driver_error import OUTSIDE
from shrinkray_gpu.ptx.launcher import NoLauncher
from shrinkray_gpu.ptx.recorded_launch import outdated, recorded_launcher, unread
from shrinkray_gpu.runner import launch_recorder
from shrinkray_gpu.runner.inside.cuda_cpp.host_code import demangle
from shrinkray_gpu.runner.launch_recorder import RecordedLaunch
from shrinkray_gpu.runner.plain import run_words
from shrinkray_gpu.runner.run import Run

_LAST = re.compile(r"cu\w+: |no error$")
"""The last words of a script."""
RECORD = ("launches.*.jsonl", "module_*", "memory_*", "launch_*.py")
"""Files of a record."""
MOST = 20
"""Launches that are listed; of more, the last ones."""


@click.command("shrink launches", cls=OneLineComplaints, context_settings={**CONTEXT, "ignore_unknown_options": True})
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND ARGS...")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), default=Path("launches"), metavar="DIR",
    help="Where the record goes. Default: launches.",
)  # fmt: skip
@click.option("--launch", type=click.IntRange(min=0), metavar="N", help="Write a script of this launch.")
@click.option("--timeout", type=click.FloatRange(min=0.1), default=600.0, metavar="SECONDS", help="For the program.")
def launches_command(command: Sequence[str], output: Path, launch: int | None, timeout: float) -> None:
    """Run any program that uses an NVIDIA GPU, whatever it is written in, and record what it launches: kernels, grids,
    arguments, and the memory that these point to. Of the launch that fails a script is written. It makes that launch
    alone, by the driver, and is run once.

    The device is waited for after each launch. A fault that hangs on timing may not show so.

    Exit codes: 0 a script shows the error that the program met, or launch N was written; 3 no launch failed, or the
    script does not show the error; 2 usage.
    """
    if not command:
        raise UsageError("which program? Usage: shrink launches -- ./program ARGS...")
    if shutil.which(command[0]) is None:
        said = f"no such option '{command[0]}'" if command[0].startswith("-") else f"there is no program {command[0]}"
        raise UsageError(f"{said}. Usage: shrink launches [options] -- ./program ARGS...")
    library, folder = launch_recorder.library(), _emptied(output)
    environment = launch_recorder.environment(os.environ, library, folder.absolute(), launch)
    try:
        ended = run_words(command, environment=environment, cwd=Path.cwd(), seconds=timeout)
    except OSError as error:
        raise UsageError(f"{command[0]} cannot be started: {error.strerror or error}") from error
    found = launch_recorder.read(folder)
    if not found:
        last = (ended.stdout + ended.stderr).strip().splitlines()[-1:] or ["it says nothing"]
        raise NotReproduced(f"{shlex.join(command)} launched nothing by NVIDIA's driver; it ended so: {last[0][:300]}")
    for each in found[-MOST:]:
        echo(_line(each))
    echo(f"{shlex.join(command)}: {speech.ending(ended)}")
    echo(f"{len(found)} launches are recorded in {os.path.relpath(folder)}")
    chosen = _chosen(found, launch)
    script = folder / f"launch_{chosen.number}.py"
    try:
        script.write_text(recorded_launcher(chosen), encoding="utf-8")
    except NoLauncher as why:
        raise NotReproduced(f"launch {chosen.number} has no script: {why}") from why
    if count := unread(chosen):
        echo(f"{count} of {len(chosen.memory)} allocations were not read, and hold zeros in the script", err=True)
    if count := outdated(chosen):
        what = "hold addresses, which are old in the script: that it fails may come from there"
        echo(f"{count} of {len(chosen.memory)} allocations {what}", err=True)
    alone = run_words([sys.executable, "-I", str(script)], environment=os.environ, cwd=Path.cwd(), seconds=timeout)
    echo(f"alone: python {os.path.relpath(script)} says: {_says(alone)}")
    if launch is None and alone.exit == 0 or chosen.status and not _shows(alone, chosen.status):
        raise NotReproduced(f"launch {chosen.number} alone does not show the error: it may need other launches")


def _emptied(folder: Path) -> Path:
    """The folder, without an earlier record. Raises UsageError where it holds anything else."""
    if folder.exists():
        earlier = {path for pattern in RECORD for path in folder.glob(pattern) if path.is_file()}
        if not folder.is_dir() or (others := set(folder.iterdir()) - earlier):
            what = f"has {min(others).name}, which is no part of a record" if folder.is_dir() else "is no folder"
            raise UsageError(f"{folder} {what}: give another --output")
        for path in earlier:
            path.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _chosen(found: Sequence[RecordedLaunch], number: int | None) -> RecordedLaunch:
    if number is not None:
        chosen = next((each for each in found if each.number == number), None)
        if chosen is None:
            raise UsageError(f"--launch {number}: the program made launches 0 to {max(each.number for each in found)}")
        return chosen
    failed = next((each for each in found if each.status != 0), None)
    if failed is None:
        graphs = ", but what graphs of CUDA launch is not seen" if any(each.captured for each in found) else ""
        raise NotReproduced(f"no launch failed{graphs}. A script of any is written by --launch N")
    return failed


def _line(launch: RecordedLaunch) -> str:
    grid, block = (" x ".join(map(str, each)) for each in (launch.grid, launch.block))
    shared = f", {launch.shared} bytes shared" if launch.shared else ""
    memory = f", memory {', '.join(str(each.size) for each in launch.memory)}" if launch.memory else ""
    kernel = demangle(launch.kernel.encode(errors="surrogateescape"))
    return f"launch {launch.number}: {kernel} on {grid} of {block}{shared}{memory}: {_end(launch)}"


def _end(launch: RecordedLaunch) -> str:
    if launch.status is None:
        return "the program ended in it"
    if launch.captured and not launch.status:
        return "recorded into a graph"
    return error_table.by_code(launch.status).text if launch.status else "ended well"


def _shows(run: Run, code: int) -> bool:
    return any(f"({each})" in _says(run) for each in (OUTSIDE if code in OUTSIDE else {code}))


def _says(run: Run) -> str:
    if run.timed_out:
        return "nothing: it does not end"
    lines = (run.stdout + run.stderr).splitlines()
    return next((line for line in lines if _LAST.match(line)), next(iter(lines[-1:]), "nothing"))
