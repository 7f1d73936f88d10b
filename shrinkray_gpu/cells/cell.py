"""A cell: one question to one interpreter on one kind of device. Its row is plain data, wherever it was run."""

from __future__ import annotations

import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

Row = dict[str, Any]
"""As JSON has it. Only `host` and `seconds` hang on where it was run."""
SICK = "sick device"
"""Key of a row that says nothing of its cell, because the device is sick: why."""

NEWS = "news"
"""Key of a row: lines for the user, which the engine takes out of it."""


class CellLanes(Protocol):
    """Where the cells of one place are run."""

    def headline(self, count: int) -> str:
        """What is told before so many cells are run; may be empty."""
        return ""

    def close(self) -> None: ...


L = TypeVar("L", bound=CellLanes)


class Cell(ABC, Generic[L]):
    """What is asked, and where. It can be pickled, since it may be run on another host."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What a person calls it; the same on each machine that lists these cells."""

    @property
    @abstractmethod
    def place(self) -> Hashable:
        """What lanes it needs: cells of one place share them."""

    @property
    def alone(self) -> bool:
        """Whether nothing may run beside it on its machine."""
        return False

    @property
    def cores(self) -> int:
        """How many it keeps busy."""
        return 1

    @property
    def needs(self) -> Mapping[str, float]:
        """What a node must have, by Ray's names of resources: `GPU`, `accelerator_type:H100`."""
        return {}

    @property
    def wishes(self) -> Sequence[str]:
        """Resources of which it takes the first that the cluster has: `triton:3.9.0`."""
        return ()

    @property
    def files(self) -> Sequence[Path]:
        """Folders, or single files, that go with it to another host."""
        return ()

    def moved(self, places: Mapping[Path, Path]) -> Cell[L]:
        """The same cell, where each of `files` lies at its place in this mapping."""
        return self

    @abstractmethod
    def open(self, jobs: int) -> L:
        """Lanes of its place, for so many cells at a time. Raises ShrinkError where nothing can be run there."""

    @abstractmethod
    def run(self, lanes: L) -> Row:
        """What it comes to, whatever happens to it; with SICK where that says nothing."""

    @abstractmethod
    def lost(self, why: str) -> Row:
        """Its row where each host that ran it was lost."""


class OpenLanes:
    """Lanes that stay open for the next cells, of the last `most` places. For one thread, but for `row_of` of cells
    whose place is open."""

    def __init__(self, jobs: int, most: int) -> None:
        self.jobs, self._most = jobs, most
        self._open: dict[Hashable, CellLanes] = {}
        """The one used last is at the end."""

    def of(self, cell: Cell[Any], *beside: Hashable) -> CellLanes:
        """Those of its place, opened if they are not yet. `beside`: what else makes a place of its own here."""
        key = (cell.place, *beside)
        if key not in self._open:
            for oldest in [*self._open][: max(0, len(self._open) - self._most + 1)]:
                self._open.pop(oldest).close()
            self._open[key] = cell.open(self.jobs)
        self._open[key] = self._open.pop(key)
        return self._open[key]

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].close()


def row_of(cell: Cell[L], lanes: L) -> Row:
    """Run a cell. Whoever fans out, and on whichever machine, comes through here."""
    return {**cell.run(lanes), "host": socket.gethostname()}


Rows = Generator[tuple[int, Row], None, None]
Begins = Callable[[int], None]
"""Told the index of a cell that begins, by any thread."""


def nobody(index: int) -> None:
    """As Begins."""


class CellEngine(Protocol):
    """What runs cells."""

    def run(self, cells: Sequence[Cell[Any]], begins: Begins = nobody) -> Rows:
        """The rows as they come, each with the index of its cell. `begins` is called when a cell begins, where that is
        known. To close it ends what is under way. Raises ShrinkError where a place cannot be opened."""
        ...

    def close(self) -> None: ...


def gpu_needs(arch: int | None, accelerator: str) -> Mapping[str, float]:
    """What a node must have to run programs on a GPU, of this kind where one is named; with `arch` it needs none."""
    gpu = {"GPU": 1.0} if arch is None else {}
    kind = {f"accelerator_type:{accelerator}": 0.001} if accelerator else {}
    return {**gpu, **kind}
