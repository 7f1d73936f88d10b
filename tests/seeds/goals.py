"""What a seed asks for: the commands of its goal.toml, and what must hold of each one's outcome.

The format is in README.md. An unknown key is an error, since a misspelt expectation would hold whatever happens.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import tomlkit

SEEDS = Path(__file__).resolve().parent
ROOT = SEEDS.parents[1]
NEEDS = frozenset({"gpu", "nvcc", "releases"})


class GoalError(Exception):
    """A goal.toml that cannot be meant."""


@dataclass(frozen=True)
class Twin:
    """The repro with one thing changed, which must make it pass: a text substitution, or a variable that is set."""

    find: str = ""
    """A regular expression, which must occur in the repro."""
    replace: str = ""
    env: str = ""
    """`NAME=VALUE`, in place of a substitution."""

    def __str__(self) -> str:
        return self.env or f"{self.find} -> {self.replace}"


@dataclass(frozen=True)
class Expected:
    """What must hold when a command has ended."""

    exit: int = 0
    says: tuple[str, ...] = ()
    """Regular expressions, of what the command prints."""
    lines: int = 0
    """The most non-blank lines that the repro may have; 0: the command makes no repro."""
    repro: tuple[str, ...] = ()
    """Regular expressions, each of which must occur in the repro."""
    issue: tuple[str, ...] = ()
    """The same of ISSUE.md."""


@dataclass(frozen=True)
class Part:
    """One command of a seed."""

    seed: str
    name: str
    command: str
    """The words after `python -m shrinkray_gpu`."""
    expected: Expected
    limit: float
    """Seconds, after which the command has failed."""
    needs: frozenset[str] = frozenset()
    check: str = ""
    """The options with which the repro shows its fault, after `python -m shrinkray_gpu {repro} --check`."""
    twins: tuple[Twin, ...] = ()
    alone: bool = False
    """Whether nothing else may use the GPU meanwhile, as for a fault of timing."""

    @property
    def title(self) -> str:
        return f"{self.seed}/{self.name}"

    def words(self, folder: Path, jobs: int) -> list[str]:
        """The command's words: {out} is a folder of its own, {seed} the folder of the goal, {jobs} the lanes."""
        return self._filled(self.command, folder, jobs)

    def check_words(self, script: Path, env: str = "") -> list[str]:
        words = self._filled(self.check, script.parent, 0)
        return [str(script), "--check", *(["--env", env] if env else []), *words]

    def _filled(self, text: str, folder: Path, jobs: int) -> list[str]:
        places = {"{out}": str(folder), "{seed}": os.path.relpath(SEEDS / self.seed, ROOT), "{jobs}": str(jobs)}
        words = shlex.split(text)
        for place, value in places.items():
            words = [word.replace(place, value) for word in words]
        return words


@dataclass(frozen=True)
class Seed:
    """One field note, and the commands that follow it."""

    name: str
    note: int
    title: str
    parts: tuple[Part, ...]


def seeds(folder: Path = SEEDS) -> list[Seed]:
    """All seeds, in the order of their notes."""
    return sorted((read(path) for path in folder.glob("*/goal.toml")), key=lambda seed: seed.note)


def read(path: Path) -> Seed:
    data = tomlkit.parse(path.read_text(encoding="utf-8")).unwrap()
    name = path.parent.name
    try:
        parts = tuple(_part(name, table) for table in data.pop("part"))
        return Seed(name=name, note=data.pop("note"), title=data.pop("title"), parts=parts, **data)
    except (KeyError, TypeError, GoalError) as error:
        raise GoalError(f"{path}: {error}") from error


def _part(seed: str, table: dict[str, Any]) -> Part:
    table = dict(table)
    expected = Expected(**dict(_frozen(Expected, table.pop("expect"))))
    twins = tuple(Twin(**dict(_frozen(Twin, twin))) for twin in table.pop("twin", []))
    needs = frozenset(table.pop("needs", []))
    if unknown := needs - NEEDS:
        raise GoalError(f"needs {', '.join(sorted(unknown))}: known are {', '.join(sorted(NEEDS))}")
    part = Part(seed=seed, expected=expected, twins=twins, needs=needs, **table)
    if bool(part.check) != bool(expected.lines):
        raise GoalError(f"{part.title}: `check` and `lines` belong together, for a command that makes a repro")
    if twins and not part.check:
        raise GoalError(f"{part.title}: a twin is one of a repro, and this command makes none")
    return part


def _frozen(kind: type, table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    known = {field.name for field in fields(kind)}
    if unknown := table.keys() - known:
        raise GoalError(f"{kind.__name__.lower()} has no {', '.join(sorted(unknown))}")
    for key, value in table.items():
        yield key, tuple(value) if isinstance(value, list) else value
