"""The command `shrink explain FILE`: what every instrument says of the fault that FILE shows, as a card or as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from shrinkray_gpu.cli_words import CONTEXT, Command, architecture, fail, running, settings
from shrinkray_gpu.evidence.card import card
from shrinkray_gpu.explaining import explain as explain_file
from shrinkray_gpu.runner.interpreter import found


@click.command(cls=Command, context_settings=CONTEXT)
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.argument("args", nargs=-1)
@click.option("--oracle", multiple=True, metavar="SPEC", help="The fault that it must show; repeatable, all must hold.")
@running("FILE", each="a run", seconds=300)
@click.option(
    "--intermittent",
    is_flag=True,
    help="The fault comes and goes: ask initcheck and racecheck too, whatever one run does.",
)
@click.option("--synccheck", is_flag=True, help="Ask synccheck too.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, and nothing else.")
def explain(file: Path | None, args: tuple[str, ...], **given: Any) -> None:
    """Run FILE once as `python FILE ARGS...`, and once more for each instrument that its fault calls for, and print
    what they say: the fault, the kernel, the instruction, the source line, the launch, the memory.

    Exit codes: 0 it shows a fault, 2 usage, 3 it shows none. Nothing is written beside FILE.
    """
    if file is None:
        fail("which file? Usage: shrink explain FILE [options] [-- ARGS...]", 2)
    seen = explain_file(
        file,
        oracle=given["oracle"],
        python=found(given["python"]),
        arch=architecture(given["arch"]),
        argv=args,
        environment=settings(given["env"]),
        cwd=given["cwd"],
        timeout=given["timeout"],
        intermittent=given["intermittent"],
        synccheck=given["synccheck"],
    )
    click.echo(json.dumps(seen.to_json(), indent=1) if given["as_json"] else card(seen))
