"""The one door to the standard streams.

What a program says, a case's title or a file's name may hold codes that clear the screen, fill the clipboard or turn
letters round. For people they are written as escapes, such as `\\x1b`. A stream that takes no more text, or that was
closed, costs no result: what cannot be written is left out. A letter that its encoding lacks is an escape.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

import click

_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What a terminal obeys, but for line ends and tabs; and half characters, which no stream takes."""
_STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))
_LOST = 2
"""The exit code where all went well, but standard output could not take what was to be told."""
_refusals: list[OSError] = []
"""Why standard output takes no more."""


def escaped(text: str) -> str:
    """A text as a terminal may get it, before our own colours."""
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def escaped_line(text: str) -> str:
    """The same, as one line."""
    return escaped(text).replace("\n", "\\n")


def echo(text: str = "", *, err: bool = False, nl: bool = True, stream: TextIO | None = None) -> None:
    """Write a text for people."""
    _write(escaped(text), err=err, nl=nl, stream=stream)


def print_data(text: str, *, nl: bool = True) -> None:
    """Write what a program reads, as it is: JSON, a script."""
    _write(text, nl=nl)


def _write(text: str, *, err: bool = False, nl: bool, stream: TextIO | None = None) -> None:
    try:
        click.echo(text, file=stream, err=err, nl=nl)
    except BrokenPipeError:
        raise  # nobody reads: see OneLineComplaints
    except OSError as error:
        full = stream or (sys.stderr if err else sys.stdout)
        if full is sys.stdout:
            _refusals.append(error)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, full.fileno())  # what waits to be written goes there when the interpreter ends
        os.close(nowhere)


@contextmanager
def standard_streams() -> Iterator[None]:
    """Around a whole command. A stream that its caller closed is /dev/null, before a file gets its number."""
    for number, (name, mode) in enumerate(_STREAMS):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # it gets the lowest number that is free
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what its encoding has no letter for
    _refusals.clear()
    try:
        yield
    except SystemExit as end:
        if end.code or not _refusals:
            raise
    finally:
        if _refusals:
            why = f"shrink: standard output takes no more ({_refusals[0].strerror})"
            echo(f"{why}: not all is told there, but files are written as usual", err=True)
    if _refusals:
        sys.exit(_LOST)
