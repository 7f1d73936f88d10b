"""The command `shrink report FOLDER`: the attachment of an earlier reduction, without reducing again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from shrinkray_gpu.attachment.experiments import SECONDS
from shrinkray_gpu.cli.output import echo
from shrinkray_gpu.cli.project_settings import OF_REDUCTION
from shrinkray_gpu.cli.words import (
    CONTEXT,
    OneLineComplaints,
    fail,
    for_option,
    narrator,
    publish_option,
    releases,
    tritons_option,
)
from shrinkray_gpu.job.attach import report
from shrinkray_gpu.runner.interpreter import interpreter_path


class _ReportCommand(OneLineComplaints):
    interrupted = "interrupted; an earlier attachment, if any, is as it was"


@click.command("shrink report", cls=_ReportCommand, context_settings=CONTEXT)
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@for_option
@publish_option
@click.option("--zip", "zipped", is_flag=True, help="Put all of it into one archive too.")
@click.option("--gpu-price", type=click.FloatRange(0), metavar="P", help="Of an hour of GPU: what the reduction cost.")
@click.option("--python", default=OF_REDUCTION, metavar="PATH", help="Interpreter. Default: that of the reduction.")
@tritons_option
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Lanes. Default: one for each core.")
@click.option(
    "--seconds",
    type=click.FloatRange(0, 3600),
    default=SECONDS,
    show_default=True,
    metavar="S",
    help="For the control experiments; what is left then is not tried.",
)
@click.option("--quiet", is_flag=True, help="Only the result.")
def report_command(
    folder: Path | None, quiet: bool, python: str, gpu_price: float | None, tritons: str | None, **given: Any
) -> None:
    """Make ISSUE.md, artifacts/ and report.html of the reduction in FOLDER (<stem>.shrink).

    Its repro is run, with the instruments and a few dozen variants; nothing is reduced. Exit codes: 0 made, 2 usage,
    3 the repro does not show its fault now.
    """
    if folder is None:
        fail("which folder? Usage: shrink report <stem>.shrink [options]", 2)
    try:
        say = narrator(quiet)
        made = report(
            folder,
            python=interpreter_path(python) if python else "",
            price=gpu_price,
            tritons=releases(tritons),
            say=say,
            **given,
        )
        say.close()
    except OSError as error:
        place, why = error.filename2 or error.filename or folder, error.strerror or error
        then = "Make room there, or make it writable, and try again; an earlier attachment is as it was"
        fail(f"cannot write {place}: {why}. {then}", 2)
    echo(f"to attach: {os.path.relpath(made)}")
