"""What all commands share: complaints in one line with an exit code, and the words that several of them take."""

from __future__ import annotations

import difflib
import itertools
import json
import os
import re
import select
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, TypeVar

import click

from shrinkray_gpu.attachment.forms import FORMS
from shrinkray_gpu.cli import project_settings
from shrinkray_gpu.cli.json_lines import print_event
from shrinkray_gpu.cli.output import echo, print_data, standard_streams
from shrinkray_gpu.cli.screen import Screen, close_all
from shrinkray_gpu.device import architectures
from shrinkray_gpu.errors import ShrinkError, UsageError
from shrinkray_gpu.events import Failed
from shrinkray_gpu.runner.interpreter import interpreter_for, interpreter_path

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
if TYPE_CHECKING:
    from shrinkray_gpu.questions.varying import RunPlace

F = TypeVar("F", bound=Callable[..., Any])


ALIKE = 0.75
"""Of difflib, from which on a name counts as a slip: `orcale` and `time-out` do, `out`, `batch` and `bwd` do not."""
_RANGE = re.compile(r"  \[x[<>=]+[\d.]+\]|; [\d.]*<?=?x[<>=]+[\d.]+(?=\])|  \[[\d.]+<=?x[<>=]+[\d.]+\]")
"""Which numbers click takes, as it writes that."""


def _own(args: Sequence[str]) -> Iterator[str]:
    """The words before those that only the program gets."""
    return itertools.takewhile(lambda word: word != "--" and (word[:2] != "-m" or word[:3] == "--m"), args)


class _InProject(click.UsageError):
    """Something is wrong in pyproject.toml, and not in the words of the command line."""


class OneLineComplaints(click.Command):
    """Click's, with every complaint, about the arguments or about what came of them, in one line. Its name is the words
    that the user types before the arguments."""

    interrupted = "interrupted; nothing was written"
    panels: Mapping[str, Sequence[str]] = {}
    """Titles of the groups in which the help shows the options, and their names, without `--`."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if not (isinstance(self, click.Group) or extra.get("resilient_parsing") or {"-h", "--help"} & set(_own(args))):
            extra = {"default_map": self._project_defaults(parent), **extra}
        return super().make_context(info_name, args, parent, **extra)

    def _project_defaults(self, parent: click.Context | None) -> dict[str, Any] | None:
        """What [tool.shrink] of the project says of the options. The command that reduces has all that there may be."""
        if not project_settings.may_have(self):
            return None
        root = parent.find_root().command if parent is not None else None
        known = root.get_command(parent, "reduce") if isinstance(root, click.Group) and parent is not None else None
        try:
            found = project_settings.find(Path.cwd())
            return found.defaults(self, known or self) if found is not None else None
        except UsageError as error:
            raise _InProject(str(error)) from error

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
            fail(str(error), error.exit_code, kind=type(error).__name__)
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
            with standard_streams():
                return super().main(list(words), *others, **extra)
        except click.ClickException as error:
            fail(_complaint(error, self), 2, as_json="--json" in words[: words.index("--") if "--" in words else None])
        except click.Abort:
            sys.exit(130)
        except click.exceptions.Exit as end:
            sys.exit(end.exit_code)


def _complaint(error: click.ClickException, command: click.Command) -> str:
    """It, and where to read more. click proposes options that are hardly like what was typed."""
    if isinstance(error, _InProject):
        return error.format_message()
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


arch_option = click.option(
    "--arch",
    metavar="sm_90",
    envvar="SHRINK_ARCH",
    help="No GPU: compile for this architecture on the virtual GPU. Default: SHRINK_ARCH in the environment.",
)


def running(of: str, *, each: str, default: str) -> Callable[[F], F]:
    """The options that say where and how a program is run. `of` it, or of all; `default`: seconds for `each` if nobody
    says."""
    return several(
        arch_option,
        click.option(
            "--python",
            metavar="PATH",
            help="Interpreter that runs it, or the folder of its environment; needs nothing of ours. Default: ours; "
            "where that has no torch the active environment, or .venv beside FILE or above.",
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


def chosen_python(given: str | None, beside: Path | None, say: Callable[[str], None] = lambda text: None) -> str:
    """The interpreter that runs programs: the one named with --python, or what is found for a program `beside` which it
    lies. One that is not ours is told."""
    if given is not None:
        return interpreter_path(given)
    python, why = interpreter_for(beside or Path("command"), os.environ)
    if why:
        say(why)
    return python


def run_place(given: Mapping[str, Any], file: Path, say: Callable[[str], None]) -> RunPlace:
    """What the options of `running` and `--jobs` say."""
    from shrinkray_gpu.questions.varying import RunPlace

    python, arch = chosen_python(given["python"], file, say), architecture(given["arch"])
    environment = settings(given["env"])
    return RunPlace(python, arch, given["jobs"], environment, given["cwd"], given["timeout"])


def architecture(name: str | None) -> int | None:
    """`sm_90` as 90."""
    try:
        return None if name is None else architectures.asked(name)
    except UsageError as error:
        raise UsageError(f"--arch {error}") from error


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


tritons_option = click.option(
    "--triton", "tritons", metavar="V,V,...", help="Releases of Triton, installed aside: what becomes of it there."
)
for_option = click.option(
    "--for",
    "reader",
    type=click.Choice([*FORMS]),
    callback=lambda context, parameter, value: value or "",
    help="The project that ISSUE.md is for, in the order of its issue form. Default: what the repro calls.",
)
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


_ANSWERED = "shrinkray_gpu.answered"
"""In click's meta: the one object of `--json` is printed."""


def print_answer(told: Mapping[str, Any] | Sequence[Any]) -> None:
    """Print the one object that `--json` of a command asks for which tells no events."""
    print_data(json.dumps(told, indent=1))
    click.get_current_context().meta[_ANSWERED] = True


def fail(text: str, code: int, *, kind: str = "", as_json: bool | None = None) -> NoReturn:
    """The one line that a command ends with, and the last event of `--json`. `as_json` is given only where the words of
    the command line could not be read."""
    close_all()
    context = click.get_current_context(silent=True)
    if as_json is None and context is not None:
        as_json = context.params.get("as_json", False) and _ANSWERED not in context.meta
    if as_json:
        print_event(Failed(kind or {2: "UsageError", 130: "Interrupted"}.get(code, "ShrinkError"), text, code))
    echo(f"shrink: {text}", err=True)
    sys.exit(code)
