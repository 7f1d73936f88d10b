"""The full fingerprint of one program after another, by the quickest instruments that tell it."""

from __future__ import annotations

from dataclasses import dataclass

from shrinkray_gpu.evidence import examine
from shrinkray_gpu.evidence.dumping import InLanes
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Script
from shrinkray_gpu.runner.run import Run


@dataclass
class Checkpoints:
    """Of programs that are made of one another: a core dump in a lane, one of a cold process, the sanitizer.

    Where nobody could read the dumps of one, the sanitizer alone is asked from then on: 9 s instead of the 17 to 24
    that both took on an H100.
    """

    setup: Setup
    seconds: float
    """That a plain run may take."""
    lanes: InLanes | None = None
    unread: bool = False
    """Whether that was so."""

    def fault(self, text: str, script: Script, run: Run | None = None) -> Fault | None:
        """None if it shows none. `run`: one that showed it, see `examine.by_dump`."""
        if self.setup.arch is not None:
            return examine.fingerprint(text, script, self.setup, seconds=self.seconds)
        dumped = None
        if not self.unread:
            dumped, self.unread = self._by_dump(text, script, run)
            if not self.unread:
                return dumped
        # Under the sanitizer what takes a minute may take an hour, and the search waits for it.
        seconds = min(self.seconds, run.seconds) if run is not None else self.seconds
        return examine.by_record(text, script, self.setup, seconds=seconds, dumped=dumped)

    def _by_dump(self, text: str, script: Script, run: Run | None) -> tuple[Fault | None, bool]:
        if self.lanes is not None:
            found, unread = self.lanes.fault(text)
            if found is not None or unread:
                return found, unread
        return examine.by_dump(text, script, self.setup, seconds=self.seconds, run=run)
