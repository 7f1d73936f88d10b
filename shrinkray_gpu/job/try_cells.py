"""Candidates of one reduction on the machines of a Ray cluster: each run is a cell.

A host runs a candidate as this machine would, in lanes of its own, with the program's folders as they were shipped. It
must have the versions of this machine, since a verdict may hang on them.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from shrinkray_gpu.cells.cell import Cell, CellEngine, CellLanes, Row, gpu_needs
from shrinkray_gpu.cells.ray_cluster import RayCluster, by_host, cluster_at
from shrinkray_gpu.cells.shipped_files import outermost, renamed
from shrinkray_gpu.cells.sick_gpu import checked
from shrinkray_gpu.device import gpus
from shrinkray_gpu.evidence.versions import check_same, versions
from shrinkray_gpu.options import Options, Say
from shrinkray_gpu.runner.gpu_groups import GpuGroups, doubtful
from shrinkray_gpu.runner.interpreter import check_python
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.request import Request, RunSettings
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.runner.terms import Terms


@dataclass(frozen=True)
class TriedProgram:
    """What all tries of a reduction share."""

    home: Path
    """The folder of all that it writes."""
    folders: tuple[Path, ...]
    """Those that the program needs."""
    versions: Mapping[str, str]
    """Of what runs it here."""
    gpu: bool
    """Whether it runs on a GPU."""
    accelerator: str = ""
    """The kind of it, by Ray's names."""


@dataclass(frozen=True)
class TryCell(Cell["TryLanes"]):
    """One run of a candidate. Its setup has what this machine's environment has otherwise than the user's."""

    program: TriedProgram
    script: Script
    setup: Setup
    terms: Terms
    request: Request
    settings: RunSettings
    fresh: bool
    names: tuple[tuple[str, str], ...] = ()
    """What a path is called here and on the host, where that is another machine."""

    @property
    def name(self) -> str:
        return self.script.called

    @property
    def place(self) -> Hashable:
        return self.program.home, repr(self.setup), self.terms

    @property
    def alone(self) -> bool:
        return self.script.tell

    @property
    def needs(self) -> Mapping[str, float]:
        return gpu_needs(None, self.program.accelerator) if self.program.gpu else {}

    @property
    def files(self) -> Sequence[Path]:
        return self.program.folders

    def moved(self, places: Mapping[Path, Path]) -> TryCell:
        return replace(self, names=tuple((str(path), str(places[path])) for path in self.files))

    def open(self, jobs: int) -> TryLanes:
        return TryLanes(self)

    def run(self, lanes: TryLanes) -> Row:
        run = lanes.run(self)
        back = {now: before for before, now in lanes.names.items()}
        row: Row = {"run": renamed(run.to_json(), back)}
        return checked(row, GpuGroups(), lambda: row) if self.program.gpu and doubtful(run) else row

    def lost(self, why: str) -> Row:
        return {"run": Run(mode=self.terms.mode, exit=None, trouble=why).to_json()}


class TryLanes(CellLanes):
    """Lanes of a host for the candidates of one reduction. Raises UsageError where the host has other versions."""

    def __init__(self, first: TryCell) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="shrink-", ignore_cleanup_errors=True)
        self.names = {str(first.program.home): self._folder.name, **dict(first.names)}
        for name in ("scratch", "cache"):
            Path(self._folder.name, name).mkdir()
        setup = self._there(first.setup)
        check_python(setup.python)
        found = versions(setup.python, setup.environment, gpu=first.program.gpu)
        check_same(found, first.program.versions)
        terms = first.terms
        self._pool = Pool(
            self._script(first.script), setup, mode=terms.mode, jobs=1, seconds=terms.seconds, extra=terms.extra
        ).on(replace(terms, jobs=1))

    def close(self) -> None:
        self._pool.close()
        self._folder.cleanup()

    def run(self, cell: TryCell) -> Run:
        request = Request(
            self._here(cell.request.source),
            self._here(cell.request.path),
            tuple(map(self._here, cell.request.argv)),
            self._here(cell.request.cwd),
        )
        pool = self._pool.serving(self._script(cell.script), seconds=cell.terms.seconds)
        return pool.run_here(request, cell.settings, cell.fresh)

    def _here(self, text: str) -> str:
        return renamed(text, self.names)

    def _script(self, script: Script) -> Script:
        return replace(
            script,
            path=Path(self._here(str(script.path))),
            cwd=Path(self._here(str(script.cwd))),
            argv=tuple(map(self._here, script.argv)),
            original=self._here(script.original),
        )

    def _there(self, setup: Setup) -> Setup:
        changed = {name: self._here(value) for name, value in setup.environment.items()}
        return replace(
            setup,
            python=setup.python or sys.executable,
            environment={**os.environ, **changed},
            own=tuple(map(self._here, setup.own)),
            scratch=self._here(setup.scratch),
            writable=tuple(map(self._here, setup.writable)),
        )


class ClusterHosts:
    """The machines of a cluster, as a pool asks them. Thread-safe."""

    def __init__(self, engine: CellEngine, program: TriedProgram) -> None:
        self._engine, self._program = engine, program
        self._lock = threading.Lock()
        self.runs: Counter[str] = Counter()
        """By host."""

    def __str__(self) -> str:
        with self._lock:
            return by_host(self.runs)

    def run(self, pool: Pool, request: Request, settings: RunSettings, fresh: bool) -> Run:
        """Raises ShrinkError where a host cannot run it."""
        changed = {name: value for name, value in pool.setup.environment.items() if os.environ.get(name) != value}
        python = "" if pool.setup.python == sys.executable else pool.setup.python
        setup = replace(pool.setup, environment=changed, python=python)
        cell = TryCell(self._program, pool.script, setup, pool.terms, request, settings, fresh)
        ((_, row),) = self._engine.run([cell])
        with self._lock:
            self.runs[row.get("host", "")] += 1
        return Run.from_json(row["run"])


@contextmanager
def cluster_of(options: Options, say: Say) -> Iterator[tuple[RayCluster | None, Options]]:
    """The Ray cluster that is asked for, and the options with so many tries at a time as it has room for. Raises
    UsageError where there is none."""
    gpu = options.arch is None and options.ray is not None and gpus.present()
    with cluster_at(options.ray, options.jobs, gpu=gpu, say=say) as (cluster, jobs):
        yield cluster, replace(options, jobs=jobs)


def hosts_of(cluster: CellEngine, home: Path, script: Script, setup: Setup, accelerator: str | None) -> ClusterHosts:
    """What runs this script's candidates on a cluster. `home`: the folder of all that the reduction writes."""
    gpu = setup.arch is None and gpus.present()
    found = versions(setup.python, setup.environment, gpu=gpu)
    folders = outermost((script.path.parent, script.cwd))
    return ClusterHosts(cluster, TriedProgram(home, folders, found, gpu, accelerator or ""))
