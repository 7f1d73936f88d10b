"""What all commands share: complaints in one line with an exit code, and the words that several of them take."""

from __future__ import annotations

import difflib
import re
import select
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, TypeVar

import click

from shrinkray_gpu.cli.screen import Screen, close_all
from shrinkray_gpu.device import VENDOR, architectures
from shrinkray_gpu.errors import ShrinkError, UsageError
from shrinkray_gpu.runner.interpreter import interpreter_path

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
if TYPE_CHECKING:
    from shrinkray_gpu.questions.varying import RunPlace

F = TypeVar("F", bound=Callable[..., Any])


ALIKE = 0.75
"""Of difflib, from which on a name counts as a slip: `orcale` and `time-out` do, `out`, `batch` and `bwd` do not."""
_RANGE = re.compile(r"  \[x[<>=]+[\d.]+\]|; [\d.]*<?=?x[<>=]+[\d.]+(?=\])|  \[[\d.]+<=?x[<>=]+[\d.]+\]")
"""Which numbers click takes, as it writes that."""


class OneLineComplaints(click.Command):
    """Click's, with every complaint, about the arguments or about what came of them, in one line. Its name is the words
    that the user types before the arguments."""

    interrupted = "interrupted; nothing was written"
    panels: Mapping[str, Sequence[str]] = {}
    """Titles of the groups in which the help shows the options, and their names, without `--`."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        shown = {name.lstrip("-"): each for each in self.get_params(ctx) for name in each.opts if name[:1] == "-"}
        for title, names in (self.panels or {"Options": tuple(dict.fromkeys(shown))}).items():
            records = (shown[name].get_help_record(ctx) for name in names if name in shown)
            rows = [(each, _RANGE.sub("", told)) for each, told in dict.fromkeys(filter(None, records))]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ShrinkError as error:
            fail(str(error), error.exit_code)
        except KeyboardInterrupt:
            fail(self.interrupted, 130)
        except BrokenPipeError as error:  # click ends without a word, which is right where nobody reads our words
            if not (_is_unread(sys.stdout) or _is_unread(sys.stderr)):
                raise RuntimeError("a process of ours went away") from error
            raise
        finally:
            close_all()

    def main(self, args: Any = None, *others: Any, **extra: Any) -> Any:
        if not sys.platform.startswith("linux"):
            fail(f"this is {sys.platform}, and shrink runs on Linux only (on Windows: in WSL 2)", 2)
        words = tuple(sys.argv[1:] if args is None else args)  # as they were typed, for who runs them once more
        extra = {"prog_name": "shrink", "obj": words, **extra, "standalone_mode": False}
        try:
            return super().main(list(words), *others, **extra)
        except click.ClickException as error:
            fail(_complaint(error, self), 2)
        except click.Abort:
            sys.exit(130)
        except click.exceptions.Exit as end:
            sys.exit(end.exit_code)


def _complaint(error: click.ClickException, command: click.Command) -> str:
    """It, and where to read more. click proposes options that are hardly like what was typed."""
    context = getattr(error, "ctx", None)
    name = context.command.name if context is not None else command.name
    if isinstance(error, click.NoSuchOption):
        near = difflib.get_close_matches(error.option_name, error.possibilities or (), n=1, cutoff=ALIKE)
        meant = f" Did you mean {near[0]}?" if near else ""
        return f"No such option {error.option_name!r}.{meant} ({name} --help lists what there is)"
    return f"{error.format_message()} ({name} --help lists what there is)"


def _is_unread(stream: TextIO) -> bool:
    """Whether it is a pipe that nobody will read from again."""
    waiting = select.poll()
    waiting.register(stream, 0)
    return any(event & select.POLLERR for _, event in waiting.poll(0))


def running(of: str, *, each: str, default: str) -> Callable[[F], F]:
    """The options that say where and how a program is run. `of` it, or of all; `default`: seconds for `each` if nobody
    says."""
    return several(
        click.option(
            "--arch",
            metavar="sm_90",
            envvar="SHRINK_ARCH",
            help="No GPU: compile for this architecture on the virtual GPU. Default: SHRINK_ARCH in the environment.",
        ),
        click.option(
            "--python",
            default=sys.executable,
            metavar="PATH",
            help="Interpreter that runs it, or the folder of its environment; needs nothing of ours. Default: ours.",
        ),
        click.option("--env", multiple=True, metavar="K=V", help=f"Environment variable for {of}; repeatable."),
        click.option(
            "--cwd",
            type=click.Path(path_type=Path, exists=True, file_okay=False),
            help=f"Working directory of {of}. Default: this one.",
        ),
        click.option(
            "--timeout",
            type=click.FloatRange(0, min_open=True),
            metavar="S",
            help=f"Seconds that {each} may take. Default: {default}.",
        ),
    )


def run_folder_options(of: str, *, ending: str) -> Callable[[F], F]:
    """The options of the commands that run many programs (`of` them) and leave a folder `<stem>.ENDING`."""
    return several(
        click.option(
            "--jobs", type=click.IntRange(1), metavar="N", help=f"{of} at a time. Default: one a core, 8 at most."
        ),
        click.option(
            "-o",
            "--output",
            type=click.Path(path_type=Path),
            metavar="DIR",
            help=f"Default: <stem>.{ending} beside FILE. Each run makes a folder of its own in there: 001, 002, ...",
        ),
        click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, and nothing else."),
    )


def several(*options: Callable[[F], F]) -> Callable[[F], F]:
    """They as one decorator, in this order in the help."""

    def decorated(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


def settings(given: Sequence[str]) -> dict[str, str]:
    """`K=V` options as an environment."""
    environment = {}
    for setting in given:
        key, equals, value = setting.partition("=")
        if not key or not equals:
            raise UsageError(f"--env {setting}: write it as NAME=VALUE")
        environment[key] = value
    return environment


def run_place(given: Mapping[str, Any]) -> RunPlace:
    """What the options of `running` and `--jobs` say."""
    from shrinkray_gpu.questions.varying import RunPlace

    python, arch, environment = interpreter_path(given["python"]), architecture(given["arch"]), settings(given["env"])
    return RunPlace(python, arch, given["jobs"], environment, given["cwd"], given["timeout"])


def architecture(name: str | None) -> int | None:
    """`sm_90` as 90."""
    if name is None:
        return None
    number = architectures.number(name)
    if number is None:
        *most, last = architectures.EXAMPLES
        examples = f"{', '.join(most)} or {last}"
        raise UsageError(f"--arch {name}: name an {VENDOR} architecture such as {examples}")
    return number


def releases(given: str | None) -> list[str]:
    """`3.4.0,3.6.0` as a list, oldest first; empty where nothing is given."""
    if given is None:
        return []
    wanted = [version.strip() for version in given.split(",") if version.strip()]
    if not wanted:
        raise UsageError(f"--triton {given!r} names no version: write 3.6.0, or several as 3.4.0,3.6.0")
    from shrinkray_gpu.corpus import environments

    return environments.in_order(wanted)


def ptxas_releases(given: str | None) -> list[str]:
    """`12.4,13.0` as a list, oldest first; empty where nothing is given."""
    wanted = [version.strip() for version in (given or "").split(",") if version.strip()]
    if given is not None and not wanted:
        raise UsageError(f"--ptxas {given!r} names no release: write 12.4, or several as 12.4,12.9,13.0")
    from shrinkray_gpu.corpus import environments

    return environments.ptxas_in_order(wanted)


publish_option = click.option(
    "--publish",
    "strict",
    type=click.Choice(["replace", "strict"]),
    default="replace",
    callback=lambda context, parameter, value: value == "strict",
    help="Secrets (keys, tokens, passwords) in what is published: replaced and told, or refused.",
)


def narrator(quiet: bool) -> Screen:
    """What tells the user how it goes, beside the result; nothing where he wants that alone."""
    return Screen(quiet=quiet)


def fail(text: str, code: int) -> NoReturn:
    """The one line that a command ends with."""
    close_all()
    click.echo(f"shrink: {text}", err=True)
    sys.exit(code)
