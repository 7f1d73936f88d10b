"""The engine of a Ray cluster: a task a cell. Ray ships code and files, chooses the node, and tries again what is lost.

A task that finds its GPU sick tells, and then holds the GPU until all is over, so that Ray gives it to no other cell.
"""

from __future__ import annotations

import logging
import os
import re
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from shrinkray_gpu.cells import ray_worker
from shrinkray_gpu.cells.cell import SICK, Begins, Cell, Row, Rows, nobody
from shrinkray_gpu.cells.shipped_files import packed
from shrinkray_gpu.errors import ShrinkError, SickDevice, UsageError

Say = Callable[[str], None]
TRIES_AGAIN = 5
"""How often a cell begins anew on another host, after one was lost."""
MOST_TRIES = 32
"""Of one reduction at a time, if nobody says. A search has hardly more at hand."""
ANSWER = 10.0
"""Seconds for the cluster's address to answer."""
LOOK = 5.0
"""Seconds between two looks at which nodes are there."""
_KIND = "accelerator_type:"


class RayCluster:
    """`address`: `auto`, `HOST:6379`, or `local`, which starts Ray on this machine. Raises UsageError where there is no
    Ray, or no cluster."""

    def __init__(self, address: str, *, say: Say) -> None:
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # leave a cell without a GPU as it is
        try:
            import ray
        except ImportError as error:
            missing = f": {error}" if getattr(error, "name", "ray") != "ray" else ""
            raise UsageError(f"--ray needs Ray, of the cluster's own version{missing}: pip install ray") from error
        self.address, self._ray, self._say = address, ray, say
        _reach(address)
        self._ends = ExitStack()
        # A thread of Ray's prints what happens to nodes to stdout, where a reader expects one JSON object.
        self._ends.enter_context(redirect_stdout(self._ends.enter_context(open(os.devnull, "w"))))
        shipped = str(Path(__file__).parents[1])
        try:
            ray.init(address, runtime_env={"py_modules": [shipped]}, log_to_driver=False, logging_level=logging.ERROR)
        except Exception as error:  # whatever it is, of a dozen types
            self._ends.close()
            said = str(error).strip().splitlines() or [type(error).__name__]
            raise UsageError(f"--ray {address}: there is no cluster to work with: {said[0]}") from error
        self._ends.callback(ray.shutdown)
        self._nodes = self._alive()
        self._files: dict[Path, Any] = {}
        """What was shipped, by where it lies here."""
        self._held: Counter[str] = Counter()
        """Sick GPUs, by what their cells need."""
        self._holding: list[Any] = []
        """The tasks that keep these."""
        self._task = ray.remote(ray_worker.rows)
        say(f"on {len(self._nodes)} node{'s' * (len(self._nodes) != 1)} of the Ray cluster {address} ...")

    def close(self) -> None:
        for task in self._holding:
            self._ray.cancel(task, force=True)
        self._ends.close()

    def room(self, needs: Mapping[str, float]) -> int:
        """How many cells of one core that need this are run at a time."""
        there = self._ray.cluster_resources()
        return max(1, int(there.get("GPU" if "GPU" in needs else "CPU", 1)))

    def run(self, cells: Sequence[Cell[Any]], begins: Begins = nobody) -> Rows:
        """Nobody here knows when a cell begins. Raises SickDevice where no healthy GPU is left, and ShrinkError where a
        node cannot open a place."""
        for path in (each for cell in cells for each in cell.files):
            if path not in self._files:
                self._files[path] = self._ray.put(packed(path))
        self._tell_what_is_missing(cells)

        def begun(index: int) -> Any:
            cell = cells[index]
            files = (self._files[path] for path in cell.files)
            return self._task.options(**self._options(cell)).remote(cell, *files)

        pending = {begun(index): index for index in range(len(cells))}
        try:
            while pending:
                for task in self._ready([*pending]):
                    index = pending.pop(task)
                    row = self._row(task, cells[index])
                    if SICK in row:
                        self._holding.append(task)
                        self._hold(cells[index], row)
                        pending[begun(index)] = index
                    else:
                        yield index, row
        finally:
            for task in pending:
                self._ray.cancel(task, force=True)

    def _options(self, cell: Cell[Any]) -> dict[str, Any]:
        """What Ray is told of a cell."""
        there, needs = self._ray.cluster_resources(), dict(cell.needs)
        needs |= dict.fromkeys([wish for wish in cell.wishes if wish in there][:1], 0.001)
        kind = next((name for name in needs if name.startswith(_KIND)), "")
        needs.pop(kind, None)
        # What must be alone on its host takes all cores of one: of the largest, which is there in any case.
        most = max((node["Resources"].get("CPU", 1) for node in self._nodes.values()), default=1)
        return {
            "name": cell.name,
            "num_cpus": most if cell.alone else min(cell.cores, most),
            "num_gpus": needs.pop("GPU", 0),
            "accelerator_type": kind.removeprefix(_KIND) or None,
            "resources": needs,
            "max_retries": TRIES_AGAIN,
            "num_returns": "streaming",
        }

    def _ready(self, tasks: list[Any]) -> list[Any]:
        """Those of the tasks that have a row, at least one."""
        while not self._ray.wait(tasks, num_returns=1, timeout=LOOK)[0]:
            alive = self._alive()
            for gone in self._nodes.keys() - alive.keys():
                self._say(f"node {self._nodes[gone]['NodeManagerHostname']} is lost; its cells run elsewhere")
            self._nodes = alive
        ready: list[Any] = self._ray.wait(tasks, num_returns=len(tasks), timeout=0)[0]
        return ready

    def _row(self, task: Any, cell: Cell[Any]) -> Row:
        try:
            row: Row = self._ray.get(next(task))
        except self._ray.exceptions.RayTaskError as error:
            raise (error.cause if isinstance(error.cause, ShrinkError) else error) from None
        except self._ray.exceptions.RayError as error:
            return cell.lost(f"the host was lost, {TRIES_AGAIN + 1} times: {str(error).splitlines()[0]}")
        return row

    def _hold(self, cell: Cell[Any], row: Row) -> None:
        """Tell of a sick GPU. Raises SickDevice where it was the last one."""
        self._say(f"a GPU of {row['host']} is sick and gets no more cells: {row[SICK]}")
        needs = frozenset(cell.needs)
        key = " ".join(sorted(needs))
        self._held[key] += 1
        there = [node["Resources"] for node in self._alive().values() if needs <= node["Resources"].keys()]
        if self._held[key] >= sum(resources["GPU"] for resources in there):
            raise SickDevice(f"no healthy GPU is left in the cluster: {row['host']}: {row[SICK]}. Reset them")

    def _tell_what_is_missing(self, cells: Sequence[Cell[Any]]) -> None:
        there = self._ray.cluster_resources()
        for name in dict.fromkeys(name for cell in cells for name in cell.needs):
            if name not in there:
                self._say(f"no node of the cluster has {name} now: its cells wait until one comes (Ctrl-C ends it)")

    def _alive(self) -> dict[str, Any]:
        return {node["NodeID"]: node for node in self._ray.nodes() if node["Alive"]}


@contextmanager
def cluster_at(
    address: str | None, jobs: int | None, *, gpu: bool, say: Say
) -> Iterator[tuple[RayCluster | None, int | None]]:
    """The cluster at an address, if there is one, and how many tries of one reduction go there at a time if nobody says
    so. `gpu`: each takes one. Raises UsageError where there is no cluster."""
    if address is None:
        yield None, jobs
        return
    cluster = RayCluster(address, say=say)
    try:
        yield cluster, jobs or min(MOST_TRIES, cluster.room({"GPU": 1} if gpu else {}))
    finally:
        cluster.close()


def by_host(runs: Mapping[str, int]) -> str:
    """How many runs were on which host: `12 on alpha, 3 on beta`."""
    return ", ".join(f"{count} on {host}" for host, count in sorted(runs.items())) or "none"


def _reach(address: str) -> None:
    """Raises UsageError where nobody listens there: Ray itself would try for minutes."""
    found = re.fullmatch(r"(?:ray://)?\[?([^\[\]/]+)\]?:(\d+)", address)
    if found:
        try:
            socket.create_connection((found[1], int(found[2])), timeout=ANSWER).close()
        except (OSError, OverflowError) as error:
            raise UsageError(f"--ray {address}: nobody answers there ({error}). See what ray status says") from error
