"""The command `shrink sweep FILE --over NAME=V,V`: which configurations fault, and how often."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Any

import click

from shrinkray_gpu.cli.module import TakesProgram
from shrinkray_gpu.cli.output import echo
from shrinkray_gpu.cli.words import (
    CONTEXT,
    narrator,
    print_answer,
    run_folder_options,
    run_place,
    running,
)
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.events import SCHEMA
from shrinkray_gpu.oracle import all_of, parse
from shrinkray_gpu.questions import run_folder
from shrinkray_gpu.questions.sweep import Matrix, picture, sweep, sweep_tables
from shrinkray_gpu.questions.varying import RunPlace, axis, program_at

RUNS = 20
"""On a GPU. A rate of 14 % and more shows in 20 runs with a probability of 95 %."""


class _Sweep(TakesProgram):
    panels = {
        "What is swept": ("over", "runs", "oracle", "reject"),
        "How it is run": ("arch", "python", "env", "cwd", "timeout", "cold", "jobs"),
        "What comes of it": ("output", "json", "help"),
    }


@click.command("shrink sweep", cls=_Sweep, context_settings=CONTEXT)
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.argument("args", nargs=-1)
@click.option("--over", multiple=True, metavar="NAME=V,V,...", help="A name and its values; repeatable, all with all.")
@click.option(
    "--runs", type=click.IntRange(1), metavar="N", help=f"Of each configuration. Default: {RUNS}; with --arch 1."
)
@click.option(
    "--oracle", multiple=True, metavar="SPEC", help="What counts as a fault; repeatable, all must hold. Default: any."
)
@click.option("--reject", multiple=True, metavar="SPEC", help="What does not count; repeatable.")
@running("all runs", each="a run", default="120")
@click.option("--cold", is_flag=True, help="Each run in a process of its own, nothing imported or compiled before.")
@run_folder_options("Runs", ending="sweep")
def sweep_command(file: Path | None, args: tuple[str, ...], **given: Any) -> None:
    """Run FILE in every configuration that the axes make, each --runs times in a fresh context, and tell which fault
    always, sometimes, or not once, with the rate and its 95 % interval.

    NAME is a constant, an argument of the launch or of a function, an environment variable or a command line option
    that FILE itself names; num_warps, num_stages, num_ctas and maxnreg are turned at launch where it does not.
    `env:NAME` and `--NAME` say which. Commas within brackets belong to a value: ORDER=(1,0),(0,1).

    Exit codes: 0 the matrix is there, 2 usage, 3 no run tells anything.
    """
    if file is None:
        raise UsageError("which file? Usage: shrink sweep FILE --over NAME=V,V [options] [ARGS...]")
    if not given["over"]:
        raise UsageError("what is to be changed? Give --over NAME=V,V, for example --over BLOCK_M=64,128")
    if given["reject"] and not given["oracle"]:
        raise UsageError("--reject takes something from what --oracle asks for: give that, too")
    axes = [axis(text) for text in given["over"]]
    program = program_at(file, args)
    say = narrator(given["as_json"])
    place = run_place(given, file, say)
    wanted, rejected = ([parse(spec, folder=Path.cwd()) for spec in given[name]] for name in ("oracle", "reject"))
    with run_folder.folder_of(given["output"] or file.with_name(f"{file.stem}.sweep")) as folder:
        runs, oracle = given["runs"] or (1 if place.arch else RUNS), all_of(wanted, rejected) if wanted else None
        matrix = sweep(program, axes, place, runs=runs, oracle=oracle, cold=given["cold"], say=say, done=say.counted)
        say.close()
        trouble = run_folder.fill(folder, lambda: _save(folder, matrix, file, place))
    if given["as_json"]:
        print_answer({"schema": SCHEMA, "folder": os.fspath(folder), **sweep_tables.to_json(matrix)})
    else:
        echo(sweep_tables.table(matrix))
    if trouble:
        raise UsageError(trouble)
    if not given["as_json"]:
        echo(f"saved: {run_folder.display_path(folder)} (matrix.csv, matrix.svg, matrix.md, SHA256SUMS)")


def _save(folder: Path, matrix: Matrix, file: Path, place: RunPlace) -> None:
    command = shlex.join(["shrink", *sys.argv[1:]])
    run_folder.write(folder, "command.txt", command + "\n")
    run_folder.write(folder, "matrix.csv", sweep_tables.to_csv(matrix))
    run_folder.write(folder, "matrix.md", sweep_tables.markdown(matrix, command))
    run_folder.write(folder, "matrix.svg", picture.svg(matrix))
    run_folder.write(folder, "matrix.json", {"command": command, **sweep_tables.to_json(matrix)})
    run_folder.write(folder, file.name, file.read_bytes())
    variables = {**os.environ, **place.environment}
    about = run_folder.environment(place.python, matrix.versions, arch=place.arch, variables=variables)
    run_folder.write(folder, "env.json", about)
    run_folder.seal(folder)
