"""A cell without Triton, which costs nothing: what it says hangs on its name and on where it runs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from shrinkray_gpu.cells.cell import SICK, Cell, Row
from shrinkray_gpu.errors import UsageError


@dataclass
class ToyLanes:
    where: str
    jobs: int
    cells: list[str] = field(default_factory=list)
    closed: bool = False

    def headline(self, count: int) -> str:
        return f"{count} with {self.where} ..."

    def close(self) -> None:
        self.closed = True


@dataclass(frozen=True)
class ToyCell(Cell[ToyLanes]):
    """`sleeps` so long, then says what it is; in a process with SICK_GPU in its environment that its GPU is sick; with
    `kills`, the first process that runs it dies, and makes that file."""

    called: str
    where: str = "here"
    sleeps: float = 0.0
    kills: Path | None = None
    folder: Path | None = None
    resources: Mapping[str, float] = field(default_factory=dict)
    preferred: tuple[str, ...] = ()
    by_itself: bool = False

    @property
    def name(self) -> str:
        return f"{self.called}, {self.where}"

    @property
    def place(self) -> str:
        return self.where

    @property
    def alone(self) -> bool:
        return self.by_itself

    @property
    def needs(self) -> Mapping[str, float]:
        return self.resources

    @property
    def wishes(self) -> Sequence[str]:
        return self.preferred

    @property
    def files(self) -> Sequence[Path]:
        return () if self.folder is None else (self.folder,)

    def moved(self, places: Mapping[Path, Path]) -> ToyCell:
        return replace(self, folder=places.get(self.folder or Path()))

    def open(self, jobs: int) -> ToyLanes:
        if self.where == "nowhere":
            raise UsageError("nothing runs there. Name another place")
        return ToyLanes(self.where, jobs)

    def run(self, lanes: ToyLanes) -> Row:
        lanes.cells.append(self.called)
        time.sleep(self.sleeps)
        if self.kills is not None and not self.kills.exists():
            self.kills.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        row: Row = {"says": self.called, "before": len(lanes.cells) - 1, "node": os.environ.get("TOY_NODE", "")}
        if self.folder is not None:
            row["file"] = (self.folder / "sub" / "told.txt").read_text()
            row["folder"] = str(self.folder)
        if self.needs.get("GPU") and os.environ.get("SICK_GPU"):
            row[SICK] = os.environ["SICK_GPU"]
        return row

    def lost(self, why: str) -> Row:
        return {"says": self.called, "lost": why}
