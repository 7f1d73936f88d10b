"""What the user types to change a value: `BLOCK_M=64`, or of an axis all values, `BLOCK_M=64,80,128`."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shrinkray_gpu.errors import UsageError

_NAME = re.compile(r"(?P<kind>env:|--)?(?P<name>[A-Za-z_][\w.-]*)")
MOST = 1000
"""Configurations of one sweep. More is a mistake in the command, and takes days."""


@dataclass(frozen=True)
class Setting:
    """A name and one value for it, as typed."""

    name: str
    """As typed, with `env:` or `--` in front where the user says what kind of name it is."""
    value: str

    def __str__(self) -> str:
        return f"{self.name}={self.value}"


@dataclass(frozen=True)
class Axis:
    """A name and all values that it takes."""

    name: str
    values: tuple[str, ...]

    @property
    def settings(self) -> tuple[Setting, ...]:
        return tuple(Setting(self.name, value) for value in self.values)


def axis(text: str) -> Axis:
    """`BLOCK_M=64,80,128`. Commas within brackets or quotes belong to a value: `ORDER=(1,0),(0,1)`."""
    name, equals, rest = text.partition("=") if not text.startswith("--") else _long(text)
    if not equals or not _NAME.fullmatch(name.strip()):
        raise UsageError(f"--over {text}: write it as NAME=VALUE,VALUE, for example --over BLOCK_M=64,128")
    values = tuple(value.strip() for value in _split(rest))
    if "" in values:
        raise UsageError(f"--over {text}: a value is empty; write them as {name}=A,B")
    if len(set(values)) < len(values):
        twice = next(value for value in values if values.count(value) > 1)
        raise UsageError(f"--over {text}: {twice} is there twice")
    return Axis(name.strip(), values)


def setting(text: str, *, option: str) -> Setting:
    """`BLOCK_M=64`: one value, commas and all."""
    name, equals, value = text.partition("=") if not text.startswith("--") else _long(text)
    if not equals or not value or not _NAME.fullmatch(name):
        raise UsageError(f"{option}: {text!r} is no NAME=VALUE, and no Python file (FILE.py)")
    return Setting(name, value)


def combinations(axes: Sequence[Axis]) -> list[tuple[Setting, ...]]:
    """Every value of every axis with every other, the last axis the fastest. Raises UsageError for too many."""
    names = [one.name for one in axes]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"--over {twice} is there twice: give all its values at once, {twice}=A,B,C")
    count = 1
    for one in axes:
        count *= len(one.values)
    if count > MOST:
        raise UsageError(f"these axes have {count} combinations; {MOST} at most: take fewer values")
    return list(itertools.product(*(one.settings for one in axes)))


def is_code(value: str) -> bool:
    """Whether a value as typed is a Python expression of the plain kind: a literal, or a dotted name."""
    if re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", value):
        return True
    try:
        ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _long(text: str) -> tuple[str, str, str]:
    """`--width=1,2` at its own equals sign."""
    name, equals, rest = text[2:].partition("=")
    return f"--{name}", equals, rest


def _split(text: str) -> Iterator[str]:
    depth, start, quote = 0, 0, ""
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth <= 0:
            yield text[start:at]
            start = at + 1
    yield text[start:]
