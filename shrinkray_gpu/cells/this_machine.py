"""The engine of this machine: the cells of one place after those of the other, several of a place at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import groupby
from typing import Any

from shrinkray_gpu.cells.cell import NEWS, SICK, Begins, Cell, OpenLanes, Row, Rows, nobody, row_of
from shrinkray_gpu.errors import SickDevice
from shrinkray_gpu.runner import cores
from shrinkray_gpu.runner.gpu_groups import RESET

MOST = 8
"""Cells at a time, if nobody says."""

Say = Callable[[str], None]


class ThisMachine:
    """`places`: the lanes of how many stay open for a later `run`."""

    def __init__(self, jobs: int | None = None, *, places: int = 1, say: Say = lambda text: None) -> None:
        self.jobs, self._say = max(1, jobs or min(cores.usable(), MOST)), say
        self._lanes = OpenLanes(self.jobs, places)

    def close(self) -> None:
        self._lanes.close()

    def run(self, cells: Sequence[Cell[Any]], begins: Begins = nobody) -> Rows:
        """Cells that must have the machine to themselves come after the others of their place. Raises SickDevice."""

        def row(index: int) -> Row:
            begins(index)
            return row_of(cells[index], lanes)

        for _, group in groupby(range(len(cells)), lambda index: cells[index].place):
            indices = list(group)
            lanes = self._lanes.of(cells[indices[0]])
            if headline := lanes.headline(len(indices)):
                self._say(headline)
            beside = [index for index in indices if self.jobs > 1 and not cells[index].alone]
            threads = ThreadPoolExecutor(self.jobs)
            try:
                begun = {threads.submit(row, index): index for index in beside}
                for done in as_completed(begun):
                    yield begun[done], self._healthy(done.result())
            finally:  # on Ctrl-C those under way are not waited for: whoever closes the lanes ends them
                threads.shutdown(wait=False, cancel_futures=True)
            for index in indices:
                if index not in beside:  # in this thread, which hears of Ctrl-C
                    yield index, self._healthy(row(index))

    def _healthy(self, row: Row) -> Row:
        for line in row.pop(NEWS, ()):
            self._say(line)
        if SICK not in row:
            return row
        raise SickDevice(f"the GPU is sick, so no answer from it counts: {row[SICK]}. {RESET}")
