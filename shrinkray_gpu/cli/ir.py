"""The command `shrink ir FILE --count ...`: does this compiler make it, for this kernel, and what decides?"""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from shrinkray_gpu.cli.module import TakesProgram
from shrinkray_gpu.cli.output import echo
from shrinkray_gpu.cli.words import (
    CONTEXT,
    narrator,
    print_answer,
    releases,
    run_folder_options,
    run_place,
    running,
)
from shrinkray_gpu.corpus import environments
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.events import SCHEMA
from shrinkray_gpu.questions import run_folder
from shrinkray_gpu.questions.ir import ir_files, ir_tables, patterns, plan
from shrinkray_gpu.questions.ir.study import check_countable, study
from shrinkray_gpu.questions.varying import axis


class _Ir(TakesProgram):
    panels = {
        "What is counted": ("count", "good", "bad", "stress", "known", "over", "kernel"),
        "How it is run": ("arch", "python", "env", "cwd", "timeout", "triton", "jobs"),
        "What comes of it": ("output", "json", "help"),
    }


@click.command("shrink ir", cls=_Ir, context_settings=CONTEXT)
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.argument("args", nargs=-1)
@click.option(
    "--count",
    "counted",
    multiple=True,
    metavar="STAGE:REGEX",
    help="What is counted in ttir, ttgir, llir, ptx or sass; repeatable. Or a name that knows how it is spelled in "
    f"each stage: {', '.join(patterns.FAMILIES)}.",
)
@click.option(
    "--good",
    multiple=True,
    metavar="TEST",
    help="Positive control: should have it; repeatable. Default: FILE as it is.",
)
@click.option("--bad", multiple=True, metavar="TEST", help="Negative control: cannot have it; repeatable.")
@click.option("--stress", multiple=True, metavar="TEST", help="What the question is about; repeatable.")
@click.option(
    "--known",
    multiple=True,
    metavar="TEST",
    help="Surely has it, in every Triton asked: tells a true zero from a pattern that does not fit; repeatable.",
)
@click.option(
    "--over", multiple=True, metavar="NAME=V,V,...", help="Change this one value of the first --good; repeatable."
)
@click.option("--kernel", "kernels", multiple=True, metavar="NAME", help="Count in this kernel only; repeatable.")
@running("all tests", each="a test", default="120")
@click.option("--triton", "tritons", metavar="V,V,...", help="Releases of Triton, installed aside.")
@run_folder_options("Tests", ending="ir")
def ir(file: Path | None, args: tuple[str, ...], **given: Any) -> None:
    """Count what the compiler makes of FILE and of its controls, and say what that is worth.

    \b
    shrink ir copy.py --arch sm_90 --count tma --known descriptor.py \\
        --good "" --bad INNER_STRIDE=2 --stress stress.py --over NUM_STAGES=1,4 --triton 3.0.0,3.9.0

    A TEST is '[FILE.py] [NAME=VALUE ...] [-- ARGS]': another file, changed values, other arguments, all optional.

    NAME is a constant, an argument of the launch or of a function, an environment variable or a command line option
    that the program itself names; num_warps, num_stages, num_ctas and maxnreg are turned at launch where it does not.

    Exit codes: 0 all controls hold, 1 one does not, and what comes after it is inconclusive, 2 usage.
    """
    sys.exit(_ir(file, args, given))


def _ir(file: Path | None, args: tuple[str, ...], given: dict[str, Any]) -> int:
    if file is None:
        raise UsageError("which file? Usage: shrink ir FILE --count STAGE:REGEX [options] [ARGS...]")
    if not given["counted"]:
        raise UsageError(f"what is to be counted? Give --count STAGE:REGEX, or one of {', '.join(patterns.FAMILIES)}")
    counts = patterns.parse(given["counted"])
    roles = {name: given[name] for name in ("known", "good", "bad", "stress")}
    tests = plan.tests(file, argv=args, **roles, over=[axis(text) for text in given["over"]])
    say = narrator(given["as_json"])
    place = run_place(given, file, say)
    pythons = [environments.with_triton(one, python=place.python, say=say) for one in releases(given["tritons"])]
    pythons = pythons or [place.python]
    with run_folder.folder_of(given["output"] or file.with_name(f"{file.stem}.ir")) as folder:
        studies = [
            study(tests, counts, replace(place, python=one), kernels=given["kernels"], say=say) for one in pythons
        ]
        say.close()
        check_countable(studies)
        command = shlex.join(["shrink", *sys.argv[1:]])
        trouble = run_folder.fill(folder, lambda: ir_files.save(folder, studies, pythons, place, command=command))
    if given["as_json"]:
        print_answer({"schema": SCHEMA, "folder": os.fspath(folder), "studies": ir_tables.to_json(studies)})
    else:
        echo(ir_tables.table(studies))
    if trouble:
        raise UsageError(trouble)
    if not given["as_json"]:
        echo(f"\nsaved: {run_folder.display_path(folder)} (summary.tsv, summary.md, programs, code, SHA256SUMS)")
    return 0 if all(one.holds for one in studies) else 1
