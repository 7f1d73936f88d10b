"""What a command runs: FILE and its arguments, or `-m MODULE ARGS...` in its place, as python takes it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shrinkray_gpu.cli import arguments
from shrinkray_gpu.cli import words as cli_words
from shrinkray_gpu.cli.output import echo
from shrinkray_gpu.cli.words import F
from shrinkray_gpu.command.launchers import LAUNCHERS
from shrinkray_gpu.runner.interpreter import check_python

if TYPE_CHECKING:
    from shrinkray_gpu.command.driver import Command

_SURELY_OURS = frozenset({"--oracle", "--reject", "--arch", "--max-time", "--restart", "--no-report"})
"""Options that hardly any module has: behind `-m MODULE` they were most likely meant for us."""


def file_or_module() -> Callable[[F], F]:
    """The parameters `file`, `args` and `module`."""
    return cli_words.several(
        click.argument("file", type=click.Path(path_type=Path), required=False),
        click.argument("args", nargs=-1),
        click.option(
            "-m",
            "module",
            metavar="MODULE ARGS...",
            help="Instead of FILE: `python -m MODULE ARGS...`. All that follows is the module's; options of ours come "
            "before.",
        ),
    )


class TakesProgram(cli_words.OneLineComplaints):
    """A command with a parameter `file` and its `args`: see `arguments.split`."""

    takes_modules = False

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        split = arguments.split(
            args,
            arguments.OwnOptions.of(self.params),
            modules=self.takes_modules,
            launchers=LAUNCHERS if self.takes_modules else (),
        )
        launcher = "".join(word for word in split.command[:1] if word in LAUNCHERS)
        rest = super().parse_args(ctx, split.ours if launcher else [*split.ours, *split.command])
        ctx.params["args"] = tuple(split.theirs)
        if launcher:
            ctx.params["module"] = LAUNCHERS[launcher]
        if split.command:
            self._note_misplaced(launcher or f"-m {ctx.params['module']}", split.theirs)
        elif split.file is not None:
            _note_shared(split.file, split.mixed)
        return rest

    def _note_misplaced(self, command: str, theirs: Sequence[str]) -> None:
        """A module that refuses them ends with status 2, and that would be taken for the fault to reduce."""
        own = {name for option in self.params for name in option.opts}
        words = dict.fromkeys(word.partition("=")[0] for word in theirs)
        if misplaced := [word for word in words if word in _SURELY_OURS & own]:
            first, _, module = command.partition(" ")
            echo(
                f"note: what stands behind {command} goes to {module or first}, {', '.join(misplaced)} too: options "
                f"of shrink come before {first}",
                err=True,
            )


class TakesModule(TakesProgram):
    """A command that takes `-m MODULE ARGS...` in place of FILE, too, and a launcher by its name."""

    takes_modules = True


def _note_shared(file: str, options: Sequence[str]) -> None:
    """Of options that are ours, and FILE's own as well by what stands in it."""
    for name in dict.fromkeys(options):
        if arguments.names_it(file, name):
            echo(
                f"note: {name} is taken for an option of shrink, and {file} has one of this name: what {file} is to "
                "get comes behind --",
                err=True,
            )


def find_command(
    module: str, args: tuple[str, ...], *, python: str, cwd: Path | None, environment: Mapping[str, str]
) -> Command:
    """The command, found as the user's interpreter finds it; `environment` goes on top of ours. Raises UsageError."""
    from shrinkray_gpu.command.module_search import locate

    check_python(python)
    return locate(module, args, python=python, cwd=cwd, environment={**os.environ, **environment})
