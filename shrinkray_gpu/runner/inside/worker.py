"""The worker: a process in the user's interpreter that imports what the script imports, once, and forks lanes.

    main.py FD           fork server: one child a `spawn` message; children answer on sockets of their own
    main.py --cold FD    no fork: this very process is the lane, and runs one candidate

Standard library only, until the first message says what to import. The parent never touches CUDA: a forked child of a
process that did cannot use the GPU.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import socket
import sys
from typing import Any, Dict

from . import lane, preloading
from .process import wire

DIE_WITH_PARENT = 1


def main() -> None:
    cold = sys.argv[1] == "--cold"
    control = socket.socket(fileno=int(sys.argv[-1]))
    control.set_inheritable(False)
    _die_with_parent(os.getppid())
    setup, _ = wire.receive(control)
    if cold:
        lane.serve(control, setup)
        return
    wire.send(control, {"ready": preloading.preload(setup)})
    _ForkServer(control, setup).serve()


def _die_with_parent(parent: int) -> None:
    """At once, if it is gone already."""
    ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


class _ForkServer:
    """Forks a lane a message, and reports how each one ended."""

    def __init__(self, control: socket.socket, setup: Dict[str, Any]) -> None:
        self.control, self.setup = control, setup
        self.lanes: Dict[int, int] = {}
        self.wake, alarm = os.pipe()
        os.set_blocking(alarm, False)
        os.set_blocking(self.wake, False)
        signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def serve(self) -> None:
        try:
            while True:
                waiting: list[Any] = [self.control, self.wake]
                ready, _, _ = select.select(waiting, [], [])
                if self.wake in ready:
                    self._reap()
                if self.control in ready:
                    message, fds = wire.receive(self.control)
                    self._fork(message["spawn"], fds[0])
        except (wire.ConnectionClosed, OSError):
            for pid in self.lanes:  # the tool is gone
                _kill_group(pid)
            os._exit(0)

    def _fork(self, name: int, fd: int) -> None:
        preloading.preload_again(self.setup)
        server = os.getpid()
        pid = os.fork()
        if pid == 0:
            self.control.close()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            _die_with_parent(server)
            try:
                lane.serve(socket.socket(fileno=fd), self.setup)
            finally:
                os._exit(0)
        os.close(fd)
        self.lanes[pid] = name

    def _reap(self) -> None:
        os.read(self.wake, 4096)
        while self.lanes:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            name = self.lanes.pop(pid, None)
            if name is not None:
                wire.send(self.control, {"exited": name, "status": os.waitstatus_to_exitcode(status)})


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
