"""What all commands share: complaints in one line with an exit code, and the words that several of them take."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from shrinkray_gpu.cases import environments
from shrinkray_gpu.errors import UsageError


class Command(click.Command):
    """Click's, with every complaint about the arguments in one line."""

    called = "shrink explain"

    def main(self, *args: Any, **extra: Any) -> Any:
        try:
            return super().main(*args, **{**extra, "standalone_mode": False})
        except click.ClickException as error:
            fail(f"{error.format_message()} ({self.called} --help lists what there is)", 2)
        except click.Abort:
            sys.exit(130)
        except click.exceptions.Exit as end:
            sys.exit(end.exit_code)


def settings(given: Sequence[str]) -> dict[str, str]:
    """`K=V` options as an environment."""
    environment = {}
    for setting in given:
        key, equals, value = setting.partition("=")
        if not key or not equals:
            raise UsageError(f"--env {setting}: write it as NAME=VALUE")
        environment[key] = value
    return environment


def architecture(name: str | None) -> int | None:
    """`sm_90` as 90."""
    if name is None:
        return None
    match = re.fullmatch(r"(?:sm_?)?(\d{2,3})a?", name)
    if match is None or not 70 <= int(match[1]) <= 121:
        raise UsageError(f"--arch {name}: name an NVIDIA architecture such as sm_80, sm_90 or sm_100")
    return int(match[1])


def releases(given: str | None) -> list[str]:
    """`3.4.0,3.6.0` as a list, oldest first; empty where nothing is given."""
    if given is None:
        return []
    wanted = [version.strip() for version in given.split(",") if version.strip()]
    if not wanted:
        raise UsageError(f"--triton {given!r} names no version: write 3.6.0, or several as 3.4.0,3.6.0")
    return environments.in_order(wanted)


def fail(text: str, code: int) -> NoReturn:
    """The one line that a command ends with."""
    click.echo(f"shrink: {text}", err=True)
    sys.exit(code)
