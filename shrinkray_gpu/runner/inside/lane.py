"""A lane: one process that runs candidates, and reports on each."""

from __future__ import annotations

import atexit
import os
import resource
import signal
import socket
import sys
import traceback
from os import _exit, getpid, kill  # as they are before a candidate replaces them
from typing import Any, Dict

from . import candidate_run, fence, late_imports
from .launches import triton_build
from .process import device, wire


def main() -> None:
    """Be the lane of one candidate, in a process of its own."""
    link = socket.socket(fileno=int(sys.argv[-1]))  # a program that takes the candidate's place holds it open
    setup, _ = wire.receive(link)
    triton_build.share(setup["scratch"])
    serve(link, setup, private=setup["confine"] and fence.prepare(setup))


def serve(link: socket.socket, setup: Dict[str, Any], *, private: bool) -> None:
    """Be a lane, to the end of this process. A fault of our own is told as such, never taken for the candidate's.

    `private`: whether it can have shared memory of its own.
    """
    lane = _Lane(link, setup, private)
    try:
        lane.serve()
    except BaseException:
        lane.answer({"broken": traceback.format_exc()})
    finally:
        _lose()


def _lose() -> None:
    """End this process by LOST, whatever the candidate did to that signal."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.signal(wire.LOST, signal.SIG_DFL)
    kill(getpid(), wire.LOST)


class _Lane:
    """One process that runs candidates: one and no more, unless it holds a context that came out clean."""

    def __init__(self, link: socket.socket, setup: Dict[str, Any], private: bool) -> None:
        self.link, self.setup, self.private = link, setup, private
        self.pid = getpid()
        self.number = 0
        """Of the request that is answered next."""

    def answer(self, message: Dict[str, Any]) -> None:
        """Tell the tool. A child that the candidate forked tells it nothing."""
        if getpid() != self.pid:
            _exit(1)
        self.link.setblocking(True)  # as the candidate may have left it, both ways
        wire.send(self.link, {**message, "number": self.number})

    def serve(self) -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        atexit._clear()  # what the parent's imports registered is not the candidate's
        late_imports.watch()
        if "numpy.random" in sys.modules:
            sys.modules["numpy.random"].seed()  # else all forks would draw the same
        baseline = None
        held = fence.hold(self.setup, private=self.private) if self.setup["confine"] else []
        about = {}
        if self.setup["warm"]:
            about = device.warm()
        if self.setup["reuse"]:
            from .launches import launch_log
            from .process import descendants, restore

            launch_log.LaunchLog(frozenset()).install()  # our own wrappers are no leftovers of a candidate

            baseline = restore.Baseline()
        self.answer({"hello": self.pid, "fence": held, "device": about})
        fresh = True
        while True:
            try:
                request, fds = wire.receive(self.link, fds=2)
            except wire.ConnectionClosed:
                return
            self.number = request["number"]
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
                report["over"] = baseline.restore() if descendants.end_children() else "a process goes on"
            self.answer(report)
            if report["over"]:
                return
