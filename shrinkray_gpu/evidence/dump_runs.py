"""Runs that write a core dump as they go, so that the instruments need no run of their own to see the same fault.

A dump costs a second, and a program that imports Helion or fills 20 GB takes a minute to fault once more. The driver is
told not to abort the process after the dump: it goes on, and shows the fault in its own words, as without one.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from shrinkray_gpu.device import coredump, gpus
from shrinkray_gpu.device.dump import Dump
from shrinkray_gpu.evidence.instruments import core_dump
from shrinkray_gpu.evidence.instruments.instrument import Subject
from shrinkray_gpu.evidence.synthesis import assemble
from shrinkray_gpu.oracle.driver_error import OUTSIDE
from shrinkray_gpu.oracle.fault import MISALIGNED, Fault
from shrinkray_gpu.runner.knob_settings import KnobSetting
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.runner.scratch_folder import remove_folder

ACCESSES = OUTSIDE | {MISALIGNED}
"""The errors of an access, which is an instruction; a failed assertion is none."""


def is_unread(fault: Fault | None) -> bool:
    """Whether it is of an access whose instruction is not known: its dump was not read, or not to any purpose. Of a
    kernel that ends before the exception comes cuda-gdb itself dies. (13.0, H100)"""
    return fault is not None and fault.code in ACCESSES and not fault.instruction


@dataclass(frozen=True)
class DumpRun:
    """One cold run in this `way`, and then what its dump tells."""

    setup: Setup
    tool: Path
    folder: Path
    memory: bool
    """Whether the dump holds device memory too, see `coredump.environment`."""

    @property
    def way(self) -> KnobSetting:
        environment = coredump.environment(self.folder / "core", memory=self.memory, abort=False)
        return KnobSetting("with a core dump", environment=environment)

    def fault(self, text: str, script: Script, run: Run) -> Fault | None:
        """The fault of this run of `text`; None if it left no dump, or none that tells of a kernel. To be asked once:
        the dump, some 20 MB, is gone then."""
        core = self.folder / "core"
        try:
            if not core.exists():
                return None
            dump = coredump.read(self.tool, core)
            subject = Subject(text, script, self.setup, run.seconds, self.folder)
            return (
                assemble(subject, run, (core_dump.observation(dump),), code=False).fault if dump is not None else None
            )
        finally:
            remove_folder(self.folder)


def dumping(setup: Setup) -> Callable[[int | None], DumpRun] | None:
    """Makes one for each run, of a program that holds so many bytes of device memory, None: not known; None where no
    GPU writes dumps, or nobody reads them."""
    if setup.arch is not None or not gpus.present():
        return None
    tool = coredump.find(setup.python, setup.environment)
    if tool is None:
        return None

    def made(peak: int | None) -> DumpRun:
        return DumpRun(setup, tool, Path(tempfile.mkdtemp(dir=setup.scratch, prefix="dump")), _with_memory(peak))

    return made


def _with_memory(peak: int | None) -> bool:
    return peak is not None and peak <= coredump.LARGE


@dataclass(frozen=True)
class LaneDumps:
    """Dumps of runs in lanes: two seconds, where a process of its own takes seven. The lanes are those of a worker
    whose environment asks for dumps, each named after the process that it is of.

    The driver aborts that process when its dump is written: of one that goes on nobody knows when that is. So the fault
    in its own words is that of another run, without a dump, which tells how much memory the dump would hold, too.
    """

    pool: Pool
    tool: Path
    folder: Path
    turn: threading.Lock = field(default_factory=threading.Lock)
    """One at a time: of two beside each other, one was seen to leave no dump."""

    def way(self, peak: int) -> KnobSetting:
        """For a program that holds so many bytes of device memory."""
        environment = coredump.environment(self.folder / "%p", memory=_with_memory(peak))
        return KnobSetting("with a core dump", environment=environment)

    def prepare(self, peak: int) -> None:
        """Bring up that worker: with its imports it takes as long as a cold process."""
        self.pool.start("", way=self.way(peak))

    def fault(self, text: str) -> tuple[Fault | None, bool]:
        """The fault of a run of `text`, with what the dump of another one tells; None if the one shows none, or the
        other left no dump that tells of a kernel. And whether dumps were written, and none told the instruction of an
        access."""
        run = self.pool.run(text, fresh=True)
        shown, found, written = Fault.of(run), None, 0
        if shown is None:
            return None, False
        subject = Subject(text, self.pool.script, self.pool.setup, run.seconds, self.folder)
        for _ in range(2):  # once more costs a tenth of what the other instruments do
            dump, there = self._dump(text, run.peak)
            written += there
            if dump is not None:
                found = assemble(subject, run, (core_dump.observation(dump),), code=False).fault
                if not is_unread(found):
                    return found, False
        return found, written == 2 and is_unread(shown)

    def _dump(self, text: str, peak: int) -> tuple[Dump | None, bool]:
        """What the dump of a run of `text` tells, which holds so many bytes; None if it left none, or one of no kernel.
        And whether it left one."""
        with self.turn:
            run = self.pool.run(text, fresh=True, way=self.way(peak))
        core = self.folder / str(run.pid)
        try:
            return (coredump.read(self.tool, core), True) if core.exists() else (None, False)
        finally:
            core.unlink(missing_ok=True)


def in_lanes(pool: Pool) -> LaneDumps | None:
    """None where lanes are no forks that use a GPU, or nobody reads dumps."""
    made = dumping(pool.setup) if pool.mode == "fork" and not pool.script.sanitizer else None
    if made is None:
        return None
    one = made(None)
    return LaneDumps(pool, one.tool, one.folder)
