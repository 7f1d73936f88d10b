"""The command `shrink explain FILE`: what every instrument says of the fault that FILE shows, as a card or as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shrinkray_gpu.cli.module import TakesModule, file_or_module, find_command
from shrinkray_gpu.cli.output import echo
from shrinkray_gpu.cli.words import (
    CONTEXT,
    architecture,
    chosen_python,
    fail,
    narrator,
    print_answer,
    ptxas_releases,
    releases,
    running,
    settings,
    tritons_option,
)
from shrinkray_gpu.events import SCHEMA


class _Explain(TakesModule):
    panels = {
        "What is explained": ("m", "oracle", "intermittent", "synccheck", "triton", "ptxas"),
        "How it is run": ("arch", "python", "env", "cwd", "timeout"),
        "What is said": ("json", "help"),
    }


@click.command("shrink explain", cls=_Explain, context_settings=CONTEXT)
@file_or_module()
@click.option("--oracle", multiple=True, metavar="SPEC", help="The fault that it must show; repeatable, all must hold.")
@running("FILE", each="a run", default="300")
@click.option(
    "--intermittent",
    is_flag=True,
    help="The fault comes and goes: ask initcheck and racecheck too, whatever one run does.",
)
@click.option("--synccheck", is_flag=True, help="Ask synccheck too.")
@tritons_option
@click.option(
    "--ptxas", metavar="V,V,...", help="Releases of ptxas, installed aside: which take the PTX of its kernel."
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, and nothing else.")
def explain(file: Path | None, args: tuple[str, ...], module: str | None, **given: Any) -> None:
    """Run FILE once as `python FILE ARGS...`, and once more for each instrument that its fault calls for, and print
    what they say: the fault, the kernel, the instruction, the source line, the launch, the memory. `shrink explain
    [options] -m MODULE ARGS...` does so with `python -m MODULE ARGS...`, for example with one test by `-m pytest`.

    Exit codes: 0 it shows a fault, 2 usage, 3 it shows none. Nothing is written beside FILE.
    """
    if file is None and module is None:
        fail("which file? Usage: shrink explain FILE [options] [ARGS...], or shrink explain -m MODULE ARGS...", 2)
    from shrinkray_gpu.evidence.card import card  # neither help nor a complaint waits for these
    from shrinkray_gpu.questions.explanation import explain as explain_file

    say = narrator(given["as_json"])
    python, environment = chosen_python(given["python"], file, say), settings(given["env"])
    command = None
    if module is not None:
        command = find_command(module, args, python=python, cwd=given["cwd"], environment=environment)
    file = command.path if command else file
    assert file is not None
    told = explain_file(
        file,
        oracle=given["oracle"],
        python=python,
        arch=architecture(given["arch"]),
        argv=() if command else args,
        command=command,
        environment=environment,
        cwd=given["cwd"],
        timeout=given["timeout"],
        intermittent=given["intermittent"],
        synccheck=given["synccheck"],
        tritons=releases(given["tritons"]),
        ptxas=ptxas_releases(given["ptxas"]),
        say=say,
    )
    say.close()
    if given["as_json"]:
        print_answer({"schema": SCHEMA, **told.to_json()})
    else:
        echo(card(told.evidence, told.blame.rows()))
