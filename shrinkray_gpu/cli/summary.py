"""What a reduction tells at its end, for a person: the repro, whose fault it is, why it is the same, what it took, and
where all of it is.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from shrinkray_gpu.command.driver import Command
from shrinkray_gpu.oracle import typed
from shrinkray_gpu.result.summary import Result

TOLD = 3
"""Other faults that the summary names; all are in --json."""
FITS = 60
"""Lines of a repro that are shown where there is no terminal; where there is one, its height decides."""
Row = tuple[str, str]


def tell(result: Result, file: Path, command: Command | None) -> None:
    """Print it. A terminal gets colours, unless NO_COLOR is set, and lines that end between words."""
    if not sys.stdout.isatty():
        repro = f"\n{result.text.rstrip()}\n" if result.text.count("\n") <= FITS else None
        parts = [_head(result, file, command), repro, *(f"  {row}" for row in _plain(rows_of(result)))]
        click.echo("\n".join(part for part in parts if part is not None))
        return
    from rich.console import Console
    from rich.syntax import Syntax
    from rich.text import Text

    console = Console(highlight=False)
    console.print(Text(_head(result, file, command), style="bold"), soft_wrap=True)
    if result.text.count("\n") <= max(12, console.height - 12):
        console.print()
        shown = Syntax("", "python", theme="ansi_dark", background_color="default").highlight(result.text.rstrip())
        shown.rstrip()
        console.print(shown, soft_wrap=True)  # a long line is the terminal's to wrap: cut, it would be no program
        console.print()
    styles = {"verdict": "bold", "same fault": "green", "fault": "red", **dict.fromkeys(_PLACES, "cyan")}
    for label, text in rows_of(result):
        style = styles.get(label, "dim" if label in _DETAILS else "")
        for line in _wrapped(label, text, console.width):
            console.print(Text(line, style=style), soft_wrap=True)


_PLACES = ("saved", "plain CUDA", "to attach", "shows the fault", "go on with")
_DETAILS = ("", "tries", "guarded", "fence")


def _head(result: Result, file: Path, command: Command | None) -> str:
    done = {"done": "reduced", "out of time": "out of time, the best so far"}
    head = done.get(result.ended, "interrupted, the best so far")
    if command is not None:  # nobody counted all that it runs
        return f"{head}: {command.command_line} to {result.after[0]} lines, {result.after[1]} tokens"
    lines = f"from {result.before[0]} lines to {result.after[0]}, {result.before[1]} tokens to {result.after[1]}"
    return f"{head}: {file} {lines}"


def rows_of(result: Result) -> Iterator[Row]:
    """Labels and facts, those that matter most first, and last where things are."""
    yield from result.verdict.items()
    yield from (("known", each) for each in result.known)
    why, _, same = result.same.partition(": ")  # "same fault: by the instruments"
    more = len(result.others) - TOLD
    tries = ", ".join(f"{count} {tier}" for tier, count in sorted(result.tries.items()))
    for label, text in (
        ("fault", result.fault),
        *([(why, same)] if same else [("", why)]),
        *((f"rate of {name}", rate) for name, rate in result.rates.items()),
        ("healthy with", result.twin and f"{result.twin['edit']}; {result.twin['proof']}"),
        ("not healthy but for its fault", result.unhealthy),
        ("", f"{typed(result.spec)} in {result.verified} of {result.final_runs} clean runs"),
        ("", result.lifted),
        ("", result.guarded),
        *((f"code, {name}", figures) for name, figures in result.code.items()),
        *((f"ptxas, {name}", used or "nothing told") for name, used in result.ptxas.items()),
        ("passed over, since it shows the fault in lanes but not in each clean run", result.passed_over),
        ("", result.fence),
        ("ran without a fence, since it writes as the original does", result.unfenced),
        *(("met on the way", other) for other in result.others[:TOLD]),
        ("", f"and {more} more other faults in the same folder" if more > 0 else ""),
        ("", f"{sum(result.tries.values())} tries ({tries}) in {_spent(result)}"),
        ("saved", os.path.relpath(result.output) if sys.stdout.isatty() else str(result.output)),
        ("plain CUDA", result.cu),
        ("to attach", result.attachment and f"{result.attachment}{_beside(result)}"),
        ("shows the fault", as_called(result.command)),
        ("go on with", "the same command and --resume" if result.ended != "done" else ""),
    ):
        if text:
            yield label, text


def _spent(result: Result) -> str:
    spent = result.seconds
    gpu = f", {spent['gpu']:.0f} s of lanes on the GPU" if spent["gpu"] else ""
    whole = spent["start"] + spent["search"] + spent["check"]
    parts = f"start {spent['start']:.0f}, search {spent['search']:.0f}, final check {spent['check']:.0f}"
    return f"{whole:.0f} s: {parts}{gpu}"


def _beside(result: Result) -> str:
    return "" if result.attachment.endswith(".zip") else ", and artifacts/ and report.html beside it"


def as_called(command: str) -> str:
    """A command of ours as the user can type it: `shrink` may be in an environment that is not active."""
    if not command.startswith("shrink ") or shutil.which("shrink"):
        return command
    called = Path(sys.argv[0])
    if called.name == "shrink" and called.is_file():
        return shlex.quote(os.path.relpath(called)) + command.removeprefix("shrink")
    python = min(sys.executable, os.path.relpath(sys.executable), key=len)
    return f"{shlex.quote(python)} -m shrinkray_gpu{command.removeprefix('shrink')}"


def _plain(rows: Iterator[Row]) -> Iterator[str]:
    return (f"{label}: {text}" if label else text for label, text in rows)


def _wrapped(label: str, text: str, width: int) -> Sequence[str]:
    """Lines of a terminal that end between words. A command and a path stay whole: they are copied."""
    line = f"  {label}: {text}" if label else f"  {text}"
    if label in ("saved", "shows the fault"):
        return [line]
    return textwrap.wrap(line, width, subsequent_indent="      ", break_long_words=False, break_on_hyphens=False)
