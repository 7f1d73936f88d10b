"""How the size of the program fell: one step for each accepted change, read from a reduction's journal."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shrinkray_gpu.runner.plain_file import open_plain


@dataclass(frozen=True)
class CoursePoint:
    """The best program from here on."""

    seconds: float
    """Of work since the reduction began."""
    tries: int
    tokens: int
    by: str
    """The pass that made it."""


def read(journal: Path) -> tuple[CoursePoint, ...]:
    """The steps, in order; none where there is no journal that can be read."""
    try:
        with open(journal, "rb", opener=open_plain) as file:
            return _steps(file.read().split(b"\n"))
    except OSError:
        return ()


def _steps(lines: Iterable[bytes]) -> tuple[CoursePoint, ...]:
    """Damaged lines are left out."""
    tries, found = 0, []
    for line in lines:
        try:
            event: dict[str, Any] = json.loads(line)
            tries += event.get("event") == "judged"
            if event.get("event") == "accept":
                at, tokens = float(event["at"]), int(event["size"][1])
                found.append(CoursePoint(at, tries, tokens, str(event["pass"])))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError):
            continue
    return tuple(found)


def by_pass(steps: Iterable[CoursePoint], start: int) -> dict[str, int]:
    """Tokens that each pass took away, the most first. A step back counts for nobody."""
    taken: dict[str, int] = {}
    for step in steps:
        if step.tokens < start:
            taken[step.by] = taken.get(step.by, 0) + start - step.tokens
        start = step.tokens
    return dict(sorted(taken.items(), key=lambda each: -each[1]))
