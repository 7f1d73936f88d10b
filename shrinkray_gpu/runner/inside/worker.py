"""The worker: a process in the user's interpreter that imports what the script imports, once, and forks lanes.

One child a `spawn` message; children answer on sockets of their own.

Standard library only, until the first message says what to import. The parent never touches CUDA: a forked child of a
process that did cannot use the GPU.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
from typing import Any, Dict

from . import fence, lane, preloading
from .launches import triton_build
from .process import descendants, wire


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[-1]))
    control.set_inheritable(False)
    setup, _ = wire.receive(control)
    triton_build.share(setup["scratch"])
    private = setup["confine"] and fence.prepare(setup)  # before an import starts threads
    wire.send(control, {"ready": preloading.preload(setup)})
    _ForkServer(control, setup, private).serve()


class _ForkServer:
    """Forks a lane a message, and reports how each one ended."""

    def __init__(self, control: socket.socket, setup: Dict[str, Any], private: bool) -> None:
        self.control, self.setup, self.private = control, setup, private
        self.lanes: Dict[int, int] = {}
        descendants.adopt()
        self.known = set(descendants.children(os.getpid()))
        """What our imports started."""
        self.pipe = os.pipe()
        for end in self.pipe:
            os.set_blocking(end, False)
        self.wake, alarm = self.pipe
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
                    message, fds = wire.receive(self.control, fds=1)
                    self._fork(message["spawn"], fds[0])
        except (wire.ConnectionClosed, OSError):
            os._exit(0)  # the tool is gone, and our guard ends the lanes

    def _fork(self, name: int, fd: int) -> None:
        preloading.preload_again(self.setup)
        pid = os.fork()
        if pid == 0:
            self.control.close()
            signal.set_wakeup_fd(-1)  # from Python 3.12 on asyncio, which torch imports, has done so at the fork
            for end in self.pipe:  # by which a candidate would wake us
                os.close(end)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            descendants.adopt()
            lane.serve(socket.socket(fileno=fd), self.setup, private=self.private)
        os.close(fd)
        self.lanes[pid] = name

    def _reap(self) -> None:
        os.read(self.wake, 4096)
        for pid, status in descendants.ended():
            name = self.lanes.pop(pid, None)
            if name is not None:
                wire.send(self.control, {"exited": name, "status": os.waitstatus_to_exitcode(status)})
        left = set(descendants.children(os.getpid())) - self.known - set(self.lanes)
        descendants.end(left)  # by a lane
