"""The option `--sandbox`, and what it does: the same command once more, in a sandbox."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from shrinkray_gpu.runner import sandbox
from shrinkray_gpu.runner.sandbox import SandboxPlaces

option = click.option(
    "--sandbox",
    metavar="KIND",
    help="For programs of others: run all of it in a sandbox, bwrap or docker[:IMAGE]. It has no network, and writes "
    "only where the result goes.",
)


def enter(kind: str | None, words: Sequence[str], places: SandboxPlaces) -> None:
    """Where one is asked for and this process is in none, run `shrink WORDS...` in it and end with its exit code.
    Raises UsageError."""
    if kind is not None and (status := sandbox.enter(kind, words, places)) is not None:
        sys.exit(status)


def interpreters(pythons: Sequence[str]) -> tuple[Path, ...]:
    """The folders of these interpreters, with all that belongs to them."""
    paths = [Path(python).absolute() for python in pythons]
    return tuple(path.parent.parent for path in (*paths, *(path.resolve() for path in paths)))
