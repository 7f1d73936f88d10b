"""What Ctrl-C does to a reduction."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from types import FrameType

from shrinkray_gpu.cli.json_lines import print_event
from shrinkray_gpu.cli.output import echo
from shrinkray_gpu.cli.screen import close_all
from shrinkray_gpu.events import Failed


class Interrupt:
    """The first Ctrl-C asks the search to stop at the next wave, the second ends it without a check.

    Before the search there is nothing to save, and the original may take minutes: the first one ends all.
    """

    def __init__(self, say: Callable[[str], None], *, as_json: bool = False) -> None:
        self.say, self.as_json, self.count, self.searching = say, as_json, 0, False
        signal.signal(signal.SIGINT, self._note)
        signal.signal(signal.SIGTERM, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if not self.searching:
            close_all()
            text = "interrupted before the search began; nothing is lost"
            with contextlib.suppress(RuntimeError):  # it came in the middle of another line
                if self.as_json:
                    print_event(Failed("Interrupted", text, 130))
            echo(f"shrink: {text}", err=True)
            os._exit(130)  # threads wait for the original to end; the processes of the lanes die with us
        if self.count > 1:
            raise KeyboardInterrupt
        self.say("stopping after the tries under way, then the result is checked; Ctrl-C again leaves out the check")

    def asked(self) -> bool:
        self.searching = True
        return self.count > 0
