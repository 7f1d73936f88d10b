"""`-m MODULE ARGS...` in place of FILE, as python takes it: all after the module's name is the module's own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from shrinkray_gpu.cli import words as cli_words
from shrinkray_gpu.cli.words import F
from shrinkray_gpu.command.driver import Command
from shrinkray_gpu.command.module_search import locate
from shrinkray_gpu.runner.interpreter import check_python

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


class TakesModule(cli_words.OneLineComplaints):
    """A command with these parameters, of which `-m` is the last word of its own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As in `python -m`, all after the module's name is the module's own, whatever it looks like."""
        ours, theirs = self._split(args)
        rest = super().parse_args(ctx, ours)
        if ctx.params.get("module") is not None:
            if ctx.params["file"] is not None:
                raise click.UsageError(f"give a FILE or -m MODULE, not both: {ctx.params['file']}")
            ctx.params["args"] = tuple(theirs)
            self._note_misplaced(ctx.params["module"], theirs)
        return rest

    def _note_misplaced(self, module: str, theirs: list[str]) -> None:
        """A module that refuses them ends with status 2, and that would be taken for the fault to reduce."""
        own = {name for option in self.params for name in option.opts}
        words = dict.fromkeys(word.partition("=")[0] for word in theirs)
        if misplaced := [word for word in words if word in _SURELY_OURS & own]:
            click.echo(
                f"note: what stands behind -m {module} goes to {module}, {', '.join(misplaced)} too: options of shrink "
                "come before -m",
                err=True,
            )

    def _split(self, args: list[str]) -> tuple[list[str], list[str]]:
        """Our own words, `-m MODULE` the last of them, and those of the module."""
        valued = {
            name
            for option in self.params
            if isinstance(option, click.Option) and not option.is_flag
            for name in (*option.opts, *option.secondary_opts)
        }
        at = 0
        while at < len(args) and args[at] != "--":
            if args[at] == "-m":
                return args[: at + 2], args[at + 2 :]
            if args[at].startswith("-m"):  # python takes -mMODULE too
                return args[: at + 1], args[at + 1 :]
            at += 2 if args[at] in valued else 1
        return args, []


def find_command(
    module: str, args: tuple[str, ...], *, python: str, cwd: Path | None, environment: Mapping[str, str]
) -> Command:
    """The command, found as the user's interpreter finds it; `environment` goes on top of ours. Raises UsageError."""
    check_python(python)
    return locate(module, args, python=python, cwd=cwd, environment={**os.environ, **environment})
