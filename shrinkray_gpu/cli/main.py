"""The command `shrink`: its commands by name, and the one that reduces, which needs no name."""

from __future__ import annotations

import difflib
import importlib
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from shrinkray_gpu.cli.output import echo
from shrinkray_gpu.cli.words import CONTEXT, OneLineComplaints
from shrinkray_gpu.evidence.versions import __version__


class _Place(NamedTuple):
    """A command that is imported when it is asked for, and what it is for."""

    module: str
    name: str
    help: str


COMMANDS = {
    "reduce": _Place(
        "reduce", "reduce_command", "FILE to the smallest script with the same fault. What shrink FILE does."
    ),
    "explain": _Place("explain", "explain", "What the fault of FILE is, and whose. Reduces nothing."),
    "check": _Place("reduce", "check_command", "Whether FILE shows the fault: exit code 0 or 3. Writes nothing."),
    "report": _Place("report", "report_command", "ISSUE.md and report.html of an earlier reduction, anew."),
    "submit": _Place("submit", "submit_command", "Open the project's page for a new issue, filled in with ISSUE.md."),
    "corpus": _Place("corpus", "corpus", "Keep repros as cases: add, list, show."),
    "replay": _Place("replay", "replay_command", "Run the cases of a corpus against this Triton, or against several."),
    "bisect": _Place(
        "bisect", "bisect_command", "The release in which the fault of FILE began or ended, flaky or not."
    ),
    "triage": _Place("triage", "triage_command", "Many failing tests: sorted by cause, and one repro of each cause."),
    "sweep": _Place("sweep", "sweep_command", "Which configurations of FILE fault, and how often."),
    "capsule": _Place("capsule", "capsule_command", "What the capture hook left of a fault, reduced elsewhere."),
    "launches": _Place("launches", "launches_command", "What any program launches, and the launch that fails, alone."),
    "mcp": _Place("mcp_server", "mcp_command", "Serve an agent's host by the Model Context Protocol."),
    "ir": _Place("ir", "ir", "Count in what the compiler makes of FILE, with controls."),
}
"""In the order in which a newcomer needs them. A command wins over a file of its name, which is `./check`."""
_OWN = ("help", "-h", "--help", "-V", "--version")
INTRODUCTION = """\
Usage: shrink FILE [options] [ARGS...]
       shrink [options] -m MODULE ARGS...
       shrink COMMAND ...

  Reduce FILE, run as `python FILE ARGS...`, to the smallest standalone script that still shows the same fault.

  shrink failing.py --oracle "misaligned address"
  shrink failing.py --arch sm_90                      without a GPU: what the compiled code tells; or gfx942, for AMD
  shrink -m pytest tests/test_x.py::test_y
  shrink kernel.cu --arch sm_90                       a CUDA program with a main() that nvcc refuses
  shrink --sources DIR --oracle "error: ..." -- make  all files of a folder in which a command fails
  shrink crash.ttir --arch gfx942                     Triton's IR on which a pass of the compiler fails
"""


class _Shrink(OneLineComplaints, click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, "help"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return command(cmd_name) if cmd_name in COMMANDS else super().get_command(ctx, cmd_name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        first = args[0] if args else ""
        if first in COMMANDS or first in _OWN or (ctx.resilient_parsing and not args):  # the word to be completed
            return super().parse_args(ctx, args)
        if not ctx.resilient_parsing and (near := _misspelt(first)):
            raise click.UsageError(f"there is no command and no file {first!r}. Did you mean shrink {near}?")
        return super().parse_args(ctx, ["reduce", *args])

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(INTRODUCTION)
        with formatter.section("Commands"):
            formatter.write_dl([*((name, place.help) for name, place in COMMANDS.items())])
        formatter.write("\n  shrink help COMMAND tells more of one, shrink help words what the words mean.\n")
        command("reduce").format_options(ctx, formatter)
        formatter.write("\n  shrink --version tells it. Tab completes commands and options: docs/options.md.\n")

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        if incomplete.startswith("-"):
            return [*super().shell_complete(ctx, incomplete), *command("reduce").shell_complete(ctx, incomplete)]
        known = [("help", "Tell more of a command."), *((name, place.help) for name, place in COMMANDS.items())]
        commands = [CompletionItem(name, help=text) for name, text in known if name.startswith(incomplete)]
        return [*commands, CompletionItem(incomplete, type="file")]


def command(name: str) -> click.Command:
    """One of the commands, imported."""
    place = COMMANDS[name]
    found: click.Command = getattr(importlib.import_module(f"shrinkray_gpu.cli.{place.module}"), place.name)
    return found


def _misspelt(word: str) -> str:
    """The command that a word most likely is a slip of: one without a suffix, which is no file."""
    if not word.isalpha() or os.path.exists(word):
        return ""
    return next(iter(difflib.get_close_matches(word.lower(), [*COMMANDS, "help"], n=1, cutoff=0.7)), "")


@click.group("shrink", cls=_Shrink, context_settings=CONTEXT)
@click.version_option(__version__, "-V", "--version", prog_name="shrink")
def main() -> None:
    """Reduce a failing GPU program to the smallest standalone script that still shows the same fault."""


@click.command("shrink help", cls=OneLineComplaints, context_settings=CONTEXT)
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def _help(context: click.Context, words: Sequence[str]) -> None:
    """Tell more of a command; `shrink help words` tells what the words mean."""
    if words == ("words",):
        from shrinkray_gpu.cli.glossary import glossary

        echo(glossary(context.find_root().terminal_width))
        return
    found: Any = main
    name = "shrink"
    for word in words:
        inner = found.get_command(context, word) if isinstance(found, click.Group) else None
        if inner is None:
            known = found.list_commands(context) if isinstance(found, click.Group) else []
            known += ["words"] if found is main else []
            near = difflib.get_close_matches(word, known, n=1)
            hint = (
                f"Did you mean shrink help {near[0]}?" if near else f"There are {', '.join(known) or 'none below it'}"
            )
            raise click.UsageError(f"there is no command {word!r} of {name}. {hint}")
        found, name = inner, f"{name} {word}"
    width = context.find_root().terminal_width
    with click.Context(found, info_name=name, terminal_width=width, **found.context_settings) as of_it:
        echo(found.get_help(of_it))


main.add_command(_help, "help")
