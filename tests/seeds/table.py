"""The table of results, kept after every part, so that an interrupted run is resumed where it ended."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.seeds.goals import Part, Seed

PASSED, FAILED, NOT_RUN = "passed", "failed", "not run"


@dataclass(frozen=True)
class Row:
    """What came of one part."""

    state: str
    why: str = ""
    seconds: float = 0.0
    lines: int = 0
    command: str = ""
    """Of the part when it ran, so that a changed goal is run anew."""
    on: str = ""
    """The machine's versions."""


def stamp(part: Part) -> str:
    """Another one for each change of the part, its expectations included."""
    told = repr((part.command, part.expected, part.check, sorted(part.needs), part.twins))
    return hashlib.sha256(told.encode()).hexdigest()[:12]


class Table:
    """The rows in a JSON file: `build/seeds.json`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        self._rows = {title: Row(**row) for title, row in known.items()}

    def settled(self, part: Part, on: str) -> bool:
        """Whether this part as it now is has passed on such a machine before."""
        row = self._rows.get(part.title)
        return row is not None and (row.state, row.command, row.on) == (PASSED, stamp(part), on)

    def put(self, part: Part, row: Row) -> None:
        self._rows[part.title] = row
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps({title: asdict(row) for title, row in self._rows.items()}, indent=1) + "\n")
        os.replace(new, self.path)

    def row(self, part: Part) -> Row:
        return self._rows.get(part.title, Row(NOT_RUN, "not chosen"))

    def failed(self, parts: Mapping[str, Part]) -> list[str]:
        return [title for title, part in parts.items() if self.row(part).state == FAILED]


def printed(seeds: list[Seed], table: Table) -> str:
    """One line a part, below a line for its seed."""
    lines = []
    for seed in seeds:
        lines.append(f"{seed.note}  {seed.title}")
        for part in seed.parts:
            row = table.row(part)
            size = f"{row.lines} lines" if row.lines else ""
            seconds = f"{row.seconds:.0f} s" if row.seconds else ""
            lines.append(f"   {part.title:<28} {row.state:<8} {seconds:>6} {size:>9}  {row.why}".rstrip())
    return "\n".join(lines)
