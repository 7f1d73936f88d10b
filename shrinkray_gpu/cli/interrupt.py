"""What Ctrl-C does to a reduction."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import FrameType

import click

from shrinkray_gpu.cli.screen import close_all


class Interrupt:
    """The first Ctrl-C asks the search to stop at the next wave, the second ends it without a check.

    Before the search there is nothing to save, and the original may take minutes: the first one ends all.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say, self.count, self.searching = say, 0, False
        signal.signal(signal.SIGINT, self._note)
        signal.signal(signal.SIGTERM, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if not self.searching:
            close_all()
            click.echo("shrink: interrupted before the search began; nothing is lost", err=True)
            os._exit(130)  # threads wait for the original to end; the processes of the lanes die with us
        if self.count > 1:
            raise KeyboardInterrupt
        self.say("stopping after the tries under way, then the result is checked; Ctrl-C again leaves out the check")

    def asked(self) -> bool:
        self.searching = True
        return self.count > 0
