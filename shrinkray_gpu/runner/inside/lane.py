"""A lane: one process that runs candidates, and reports on each."""

from __future__ import annotations

import atexit
import os
import resource
import socket
import traceback
from typing import Any, Dict

from . import candidate_run
from .process import device, landlock, wire


def serve(link: socket.socket, setup: Dict[str, Any]) -> None:
    """Be a lane. A fault of our own is told as such, never taken for the candidate's."""
    try:
        _Lane(link, setup).serve()
    except BaseException:
        wire.send(link, {"broken": traceback.format_exc()})


class _Lane:
    """One process that runs candidates: one and no more, unless it holds a context that came out clean."""

    def __init__(self, link: socket.socket, setup: Dict[str, Any]) -> None:
        self.link, self.setup = link, setup
        self.confined = False

    def serve(self) -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        atexit._clear()  # what the parent's imports registered is not the candidate's
        baseline = None
        if self.setup["confine"]:
            self.confined = landlock.confine([self.setup["scratch"], *self.setup["writable"]])
        about = {}
        if self.setup["warm"]:
            about = device.warm()
        if self.setup["reuse"]:
            from .launches import launch_log
            from .process import restore

            launch_log.LaunchLog(frozenset()).install()  # our own wrappers are no leftovers of a candidate

            baseline = restore.Baseline()
        wire.send(self.link, {"hello": os.getpid(), "confined": self.confined, "device": about})
        fresh = True
        while True:
            try:
                request, fds = wire.receive(self.link)
            except wire.ConnectionClosed:
                return
            for fd, target in zip(fds, (1, 2)):
                os.dup2(fd, target)
                os.close(fd)
            report = candidate_run.run(request, self.setup, self.link)
            report["fresh"] = fresh
            fresh = False
            if baseline is None:
                report["over"] = "one candidate a process"
            elif report["driver_error"]:
                report["over"] = "a sticky error"
            else:
                report["over"] = baseline.restore()
            wire.send(self.link, report)
            if report["over"]:
                os._exit(0)
