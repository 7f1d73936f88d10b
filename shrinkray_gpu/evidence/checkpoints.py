"""The full fingerprint of one candidate after another, by the quickest instruments that tell it."""

from __future__ import annotations

from dataclasses import dataclass

from shrinkray_gpu.evidence import examine
from shrinkray_gpu.evidence.dumping import InLanes
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Script

ENOUGH = 2
"""Candidates one after another whose dumps nobody could read: then none is asked for any more. With its dumps such a
candidate took 17 to 24 s on an H100, and by the sanitizer alone 9."""


@dataclass
class Checkpoints:
    """Of candidates of one reduction: a core dump in a lane, one of a cold process, the sanitizer."""

    script: Script
    setup: Setup
    seconds: float
    """That a plain run may take."""
    lanes: InLanes | None
    unread: int = 0
    """Candidates, up to the last one, whose dumps nobody could read."""

    def fault(self, text: str) -> Fault | None:
        """None if it shows none."""
        if self.setup.arch is not None:
            return examine.fingerprint(text, self.script, self.setup, seconds=self.seconds)
        dumped = None
        if self.unread < ENOUGH:
            dumped, unread = self._by_dump(text)
            self.unread = self.unread + 1 if unread else 0
            if not unread:
                return dumped
        return examine.by_record(text, self.script, self.setup, seconds=self.seconds, dumped=dumped)

    def _by_dump(self, text: str) -> tuple[Fault | None, bool]:
        if self.lanes is not None and (found := self.lanes.fault(text)) is not None:
            return found, False
        return examine.by_dump(text, self.script, self.setup, seconds=self.seconds)
