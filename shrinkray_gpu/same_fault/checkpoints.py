"""The full fingerprint of one program after another, by the quickest instruments that tell it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from shrinkray_gpu.device import coredump
from shrinkray_gpu.evidence import examine
from shrinkray_gpu.evidence.dump_runs import LaneDumps, is_unread
from shrinkray_gpu.evidence.instruments import core_dump
from shrinkray_gpu.evidence.instruments.code import CODE
from shrinkray_gpu.evidence.instruments.cold_run import cold
from shrinkray_gpu.evidence.instruments.instrument import WANTS, Subject
from shrinkray_gpu.evidence.instruments.sanitizers import MEMCHECK
from shrinkray_gpu.evidence.synthesis import assemble
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.runner.scratch_folder import scratch_folder


@dataclass
class Checkpoints:
    """Of programs that are made of one another: a core dump in a lane, one of a cold process, the sanitizer. On the
    virtual GPU one run in a lane.

    Where nobody could read the dumps of one, the sanitizer alone is asked from then on, by all threads: 9 s instead of
    the 17 to 24 that both took on an H100.
    """

    setup: Setup
    seconds: float
    """That a plain run may take."""
    lanes: LaneDumps | None = None
    virtual: Pool | None = None
    """The search's lanes, on the virtual GPU."""
    unread: bool = False
    """Whether that was so."""

    def fault(self, text: str, script: Script, run: Run | None = None) -> Fault | None:
        """None if it shows none. `run`: one that showed it, see `by_dump`."""
        if self.setup.arch is not None:
            return self._on_virtual(text, script, run)
        dumped = None
        if not self.unread:
            dumped, unread = self._by_dump(text, script, run)
            if not unread:
                return dumped
            self.unread = True
        # Under the sanitizer what takes a minute may take an hour, and the search waits for it.
        seconds = min(self.seconds, run.seconds) if run is not None else self.seconds
        return likelier(by_record(text, script, self.setup, seconds=seconds), dumped)

    def _on_virtual(self, text: str, script: Script, run: Run | None) -> Fault | None:
        """By the run at hand, if it has the stages of kernels; else by one in a lane."""
        if script.twins or script.sanitizer:
            run = None
        elif self.virtual is not None:
            run = self.virtual.run(text, fresh=True, wants=WANTS)
        elif run is not None and not any("ttgir" in one.ir for one in run.compiles):
            run = None
        return examine.fingerprint(text, script, self.setup, seconds=self.seconds, run=run)

    def _by_dump(self, text: str, script: Script, run: Run | None) -> tuple[Fault | None, bool]:
        if self.lanes is not None:
            found, unread = self.lanes.fault(text)
            if found is not None or unread:
                return found, unread
        return by_dump(text, script, self.setup, seconds=self.seconds, run=run)


def by_dump(
    text: str, script: Script, setup: Setup, *, seconds: float, run: Run | None = None
) -> tuple[Fault | None, bool]:
    """What a core dump adds to a cold run; and whether there is no more to learn from dumps: nobody is here to read
    them, or see `is_unread`.

    `run`: one that showed the fault. Then a dump needs no other: of a program that takes a minute, that is a minute;
    and the answer is None if none was written, or it tells nothing. The process of the dump need not be a new one, as
    that of `run` was."""
    if coredump.find(setup.python, setup.environment) is None:
        return None, True
    with (
        scratch_folder(setup.scratch) as folder,
        ThreadPoolExecutor(1) as threads,
    ):
        subject = Subject(text, script, setup, seconds, Path(folder))
        begun = threads.submit(core_dump.look if run is None else core_dump.look_at_fork, subject, run)
        shown = run if run is not None else cold(subject, WANTS)[0]
        dump = begun.result()
        fault = assemble(subject, shown, (dump,), code=run is None).fault
        written = (subject.folder / "core").exists()
    return (fault if dump.text or run is None else None), written and is_unread(fault)


def by_record(text: str, script: Script, setup: Setup, *, seconds: float) -> Fault | None:
    """What the sanitizer adds to a cold run."""
    return examine.examine(text, script, setup, seconds=seconds, ask=(CODE, MEMCHECK), told_versions=False).fault


def likelier(recorded: Fault | None, dumped: Fault | None) -> Fault | None:
    """The sanitizer's word, if it has one; not that of another kernel than a dump names: it also sees accesses that the
    device lets pass."""
    if dumped is None or recorded is None or not recorded.kernel or dumped.kernel not in ("", recorded.kernel):
        return dumped or recorded
    return recorded
