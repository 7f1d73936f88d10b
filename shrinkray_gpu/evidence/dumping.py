"""Runs that write a core dump as they go, so that the instruments need no run of their own to see the same fault.

A dump costs a second, and a program that imports Helion or fills 20 GB takes a minute to fault once more. The driver is
told not to abort the process after the dump: it goes on, and shows the fault in its own words, as without one.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from shrinkray_gpu.evidence import instruments
from shrinkray_gpu.evidence.assembling import assembled
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.oracle.sticky import sticky_code
from shrinkray_gpu.runner import coredump, gpus
from shrinkray_gpu.runner.coredump import Dump
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.runner.ways import Way

LAUNCH_FAILED = 719
"""What the driver reports with a core dump where it reports a failed assertion (710) without one, on an H100."""


@dataclass(frozen=True)
class Dumping:
    """One cold run in this `way`, and then what its dump tells."""

    setup: Setup
    tool: Path
    folder: Path

    @property
    def way(self) -> Way:
        return Way("with a core dump", environment=coredump.environment(self.folder / "core", abort=False))

    def fault(self, text: str, script: Script, run: Run) -> Fault | None:
        """The fault of this run of `text`; None if it left no dump, or none that tells of a kernel. To be asked once:
        the dump, some 20 MB, is gone then."""
        core = self.folder / "core"
        try:
            if not core.exists():
                return None
            dump = coredump.read(self.tool, core)
            subject = instruments.Subject(text, script, self.setup, run.seconds, self.folder)
            return assembled(subject, run, dump=dump, code=False).fault if dump is not None else None
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


def dumping(setup: Setup) -> Callable[[], Dumping] | None:
    """Makes one for each run; None where no GPU writes dumps, or nobody reads them."""
    if setup.arch is not None or not gpus.present():
        return None
    tool = coredump.find(setup.python, setup.environment)
    if tool is None:
        return None
    return lambda: Dumping(setup, tool, Path(tempfile.mkdtemp(dir=setup.scratch, prefix="dump")))


@dataclass(frozen=True)
class InLanes:
    """Dumps of runs in lanes: a second and a half, where a process of its own takes seven. The lanes are those of a
    worker whose environment asks for dumps, each named after the process that it is of."""

    pool: Pool
    tool: Path
    folder: Path
    turn: threading.Lock = field(default_factory=threading.Lock)
    """One at a time: of two beside each other, one was seen to leave no dump."""

    @property
    def way(self) -> Way:
        return Way("with a core dump", environment=coredump.environment(self.folder / "%p", abort=False))

    def prepare(self) -> None:
        """Bring up that worker: with its imports it takes as long as a cold process."""
        self.pool.run("", way=self.way)

    def fault(self, text: str) -> Fault | None:
        """The fault of a run of `text`, with what its dump tells; None if it shows none, or left no dump that tells
        of a kernel."""
        run, dump = self._dumped(text)
        if dump is None and Fault.of(run) is not None:  # once more costs a tenth of what the other instruments do
            run, dump = self._dumped(text)
        if dump is None:
            return None
        if sticky_code(run)[0] == LAUNCH_FAILED:  # a plain run tells which of the two it is
            plain = self.pool.run(text, fresh=True)
            run = plain if Fault.of(plain) is not None else run
        subject = instruments.Subject(text, self.pool.script, self.pool.setup, run.seconds, self.folder)
        return assembled(subject, run, dump=dump, code=False).fault

    def _dumped(self, text: str) -> tuple[Run, Dump | None]:
        """A run that shows the fault, and what its dump tells; None if it left none, or one of no kernel."""
        with self.turn:
            run = self.pool.run(text, fresh=True, way=self.way)
        core = self.folder / str(run.pid)
        try:
            return run, coredump.read(self.tool, core) if Fault.of(run) is not None and core.exists() else None
        finally:
            core.unlink(missing_ok=True)


def in_lanes(pool: Pool) -> InLanes | None:
    """None where lanes are no forks that use a GPU, or nobody reads dumps."""
    made = dumping(pool.setup) if pool.mode == "fork" and not pool.script.sanitizer else None
    if made is None:
        return None
    one = made()
    return InLanes(pool, one.tool, one.folder)
