"""A candidate while it runs: what the tool asked for, and the report that goes back to it."""

from __future__ import annotations

import socket
from typing import Any, Callable, Dict, List, Optional

Record = Dict[str, Any]


class WatchedCandidate:
    """What all watchers of one candidate share."""

    def __init__(self, request: Record, setup: Record, link: socket.socket) -> None:
        self.request, self.setup, self.link = request, setup, link
        self.report: Record = {}
        """By key, what each watcher saw: the fields of `runner.run.Run`."""
        self.arch: Optional[int] = setup["arch"]
        """Compute capability times ten of the virtual GPU; None: the real one, if any."""
        self.log = _log(request)
        """Compilations and launches. None where nobody asked for them: then nothing that listens to them works."""
        self.virtual_gpu: Any = None
        """The virtual GPU, once it is there."""
        self.known: Any = None
        """Launches that need not be run again, where any are known."""
        self._at_end: List[Callable[[], None]] = []

    def sees(self, gpu: Any) -> None:
        """The virtual GPU is there now."""
        self.virtual_gpu = gpu

    def knows(self, launches: Any) -> None:
        """These need not be run again."""
        self.known = launches

    def when_ended(self, call: Callable[[], None]) -> None:
        """Have this called as soon as the script has come to its end, before any watcher ends."""
        self._at_end.append(call)

    def ended(self) -> None:
        """The script has come to its end."""
        for call in self._at_end:
            call()


def _log(request: Record) -> Any:
    if not request["watch"]:
        return None
    from ..launches import launch_log

    return launch_log.LaunchLog(frozenset(request["wants"]))
