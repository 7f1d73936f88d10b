"""The command `shrink submit`: the upstream project's page for a new issue, filled in, once the user says so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import webbrowser
from pathlib import Path

import click

from shrinkray_gpu.attachment.attachment import ISSUE
from shrinkray_gpu.attachment.submission import Submission, submission
from shrinkray_gpu.cli.output import echo
from shrinkray_gpu.cli.words import CONTEXT, OneLineComplaints
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.job.asked import places
from shrinkray_gpu.options import Options


@click.command("shrink submit", cls=OneLineComplaints, context_settings=CONTEXT)
@click.argument("place", type=click.Path(path_type=Path), metavar="[FILE|FOLDER]", required=False)
@click.option("--print", "only_print", is_flag=True, help="Print the address of the page, and open nothing.")
def submit_command(place: Path | None, only_print: bool) -> None:
    """Open the page for a new issue of the project that ISSUE.md is for (`shrink report --for`), with its title and
    text filled in. FILE is the program that was reduced, or ISSUE.md; FOLDER is <stem>.shrink. Without one: the
    <stem>.shrink of this folder.

    Nothing is opened before you say so, and the issue is filed by you, on that page. `gh` opens it where it is
    installed. Exit codes: 0 done, 2 usage.
    """
    asked = submission(_issue(place))
    echo(f"{asked.form.project}: {asked.title}")
    echo(asked.url)
    for told in (asked.unlikely, asked.left and f"Not in the link, paste or attach it: {asked.left}."):
        if told:
            echo(told, err=True)
    if only_print:
        return
    if not sys.stdin.isatty():
        echo("not opened: nobody can be asked here. Open the address above", err=True)
    elif click.confirm("Open this page?", err=True):
        _open(asked)


def _issue(place: Path | None) -> Path:
    """ISSUE.md of what the user names. Raises UsageError where there is none, or more than one."""
    if place is None:
        found = sorted(Path().glob(f"*.shrink/{ISSUE}"))
        if len(found) != 1:
            there = ", ".join(str(each.parent) for each in found) or "no <stem>.shrink with one"
            raise UsageError(f"which ISSUE.md? Here is {there}. Name the folder: shrink submit FOLDER")
        return found[0]
    if not place.exists():
        raise UsageError(f"{place} is not there: name the program that was reduced, or its folder <stem>.shrink")
    if place.is_dir():
        return place / ISSUE
    return place if place.suffix == ".md" else Path(os.path.relpath(places(place, Options())[1])) / ISSUE


def _open(asked: Submission) -> None:
    """By gh, which knows who the user is; else by the browser."""
    if asked.form.repository and not asked.form.template and (tool := shutil.which("gh")):
        words = ["issue", "create", "--web", "--repo", asked.form.repository, "--title", asked.title]
        if subprocess.run([tool, *words, "--body", asked.body], check=False).returncode == 0:
            return
    if not webbrowser.open(asked.url):
        echo("no browser opens here: open the address above", err=True)
