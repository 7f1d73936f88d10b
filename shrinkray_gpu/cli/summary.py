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

from shrinkray_gpu.cli.output import echo, escaped
from shrinkray_gpu.command.driver import Command
from shrinkray_gpu.oracle import typed
from shrinkray_gpu.result.summary import Result

TOLD = 3
"""Other faults that the summary names; all are in --json."""
FITS = 60
"""Lines of a repro that are shown where there is no terminal; where there is one, its height decides."""
Row = tuple[str, str]


def tell(result: Result, file: Path, command: Command | None, *, whole: bool) -> None:
    """Print it. A terminal gets colours, unless NO_COLOR is set, and lines that end between words. `whole`: also what
    no reader needs who has no doubt."""
    if not sys.stdout.isatty():
        repro = f"\n{result.text.rstrip()}\n" if result.text.count("\n") <= FITS else None
        parts = [_head(result, file, command), repro, *(f"  {row}" for row in _plain(rows_of(result, whole=whole)))]
        echo("\n".join(part for part in parts if part is not None))
        return
    from rich.console import Console
    from rich.syntax import Syntax
    from rich.text import Text

    console = Console(highlight=False)
    for line in textwrap.wrap(escaped(_head(result, file, command)), console.width, break_long_words=False):
        console.print(Text(line, style="bold"), soft_wrap=True)
    if result.text.count("\n") <= max(12, console.height - 12):
        console.print()
        coloured = Syntax("", "python", theme="ansi_dark", background_color="default")
        shown = coloured.highlight(escaped(result.text.rstrip()))
        shown.rstrip()
        console.print(shown, soft_wrap=True)  # a long line is the terminal's to wrap: cut, it would be no program
        console.print()
    styles = {"verdict": "bold", "same fault": "green", "fault": "red", **dict.fromkeys(_PLACES, "cyan")}
    for label, text in rows_of(result, whole=whole):
        style = styles.get(label, "" if label else "yellow" if any(each in text for each in _CAVEATS) else "dim")
        for line in _wrapped(escaped(label), escaped(text), console.width):
            console.print(Text(line, style=style), soft_wrap=True)


_PLACES = ("saved", "plain CUDA", "to attach", "shows the fault", "go on with")
_CAVEATS = ("not guarded", "not on this machine", "open, since")
"""In what is told of guards and of the fence: something is missing, and every reader must know."""


def _head(result: Result, file: Path, command: Command | None) -> str:
    done = {"done": "reduced", "out of time": "out of time, the best so far", "stopped early": "stopped early"}
    head = done.get(result.ended, "interrupted, the best so far")
    took = f"in {sum(result.seconds[part] for part in _PARTS):.0f} s"
    if command is not None:  # nobody counted all that it runs
        return f"{head}: {command.command_line} to {result.after[0]} lines, {result.after[1]} tokens, {took}"
    (lines, tokens), (fewer, left) = result.before, result.after
    by_lines = f"{lines} lines to {fewer}, " if fewer <= lines else ""  # a crowded program is laid out anew
    return f"{head}: {file} from {by_lines}{tokens} tokens to {left}, {took}"


def rows_of(result: Result, *, whole: bool) -> Iterator[Row]:
    """Labels and facts: whose fault it is, three rows of evidence, what else the reader must know, and where things
    are. `whole`: beside these, what is as usual."""
    yield from result.verdict.items()
    if whole or not result.known[1:]:
        yield from (("known", each) for each in result.known)
    else:
        yield "known", f"{result.known[0]}; and by {len(result.known) - 1} more, which --verbose names"
    why, _, same = result.same.partition(": ")  # "same fault: by the instruments"
    runs = f"{typed(result.spec)} in {result.verified} of {result.final_runs} clean runs"
    twin = result.twin and f"{result.twin['edit']}; {result.twin['proof']}"
    more = len(result.others) - TOLD
    tries = ", ".join(f"{count} {tier}" for tier, count in sorted(result.tries.items()))
    for label, text in (
        ("fault", result.fault and f"{result.fault}; {runs}"),
        *([(why, same)] if same else [("", why)]),
        ("healthy with", twin),
        ("", "" if result.fault else runs),
        ("", result.lifted if whole or not twin else ""),
        *((f"rate of {name}", rate) for name, rate in result.rates.items()),
        ("not healthy but for its fault", result.unhealthy),
        *((f"code, {name}", figures) for name, figures in result.code.items()),
        *((f"ptxas, {name}", used or "nothing told") for name, used in result.ptxas.items()),
        ("passed over, since it shows the fault in lanes but not in each clean run", result.passed_over),
        ("ran without a fence, since it writes as the original does", result.unfenced),
        *(("", text) for text in (result.guarded, result.fence) if whole or any(each in text for each in _CAVEATS)),
        *(("met on the way", other) for other in result.others[:TOLD]),
        ("", f"and {more} more other faults in the same folder" if more > 0 else ""),
        ("", f"{sum(result.tries.values())} tries ({tries}): {_spent(result)}" if whole else ""),
        ("stopped early", result.early),
        ("saved", os.path.relpath(result.output) if sys.stdout.isatty() else str(result.output)),
        ("plain CUDA", result.cu),
        ("to attach", result.attachment and f"{result.attachment}{_beside(result)}"),
        ("shows the fault", as_called(result.command)),
        ("go on with", _GO_ON.get(result.ended, "the same command and --resume")),
    ):
        if text:
            yield label, text


_GO_ON = {"done": "", "stopped early": "the same command with --resume in place of --fast"}
_PARTS = ("start", "search", "check")


def _spent(result: Result) -> str:
    spent = result.seconds
    gpu = f", {spent['gpu']:.0f} s of lanes on the GPU" if spent["gpu"] else ""
    return f"start {spent['start']:.0f} s, search {spent['search']:.0f} s, final check {spent['check']:.0f} s{gpu}"


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
