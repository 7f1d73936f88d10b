"""Keepers that are forks of a server, which this process starts when the first is asked for."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from shrinkray_gpu.runner import guarded
from shrinkray_gpu.runner.guarded import Keeper
from shrinkray_gpu.runner.host_memory import MemoryLimit, MemoryTerms, limit_memory
from shrinkray_gpu.runner.inside.process import wire

SERVER = Path(__file__).parent / "server.py"
COMMAND = Path(__file__).parent / "command.py"
STARTS = 120.0
"""Seconds in which a server imports torch on a busy machine."""


class KeeperServer:
    """A server, and the name at which it is asked."""

    def __init__(self) -> None:
        listening = socket.socket(socket.AF_UNIX)
        listening.bind("")  # the kernel chooses a name of its own, without a file
        listening.listen(64)
        self.name = listening.getsockname()[1:].decode()
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "TRITON_"))}
        with listening:
            self.process = subprocess.Popen(
                [sys.executable, "-B", str(SERVER), str(listening.fileno())],
                stdin=subprocess.PIPE,
                env=environment,
                cwd="/",
                pass_fds=(listening.fileno(),),
                start_new_session=True,
            )


class ForkedKeeper(Keeper):
    """One that comes from a server. `name`: of that; empty: one of this process."""

    def __init__(self, name: str = "") -> None:
        super().__init__(MemoryTerms())
        self.name = name
        self.server: KeeperServer | None = None

    def server_name(self) -> str:
        if not self.name:
            self.server = KeeperServer()
            self.name = self.server.name
        return self.name

    def _start(self) -> None:
        self.control, theirs = socket.socketpair()

        def start(limit: MemoryLimit) -> int:
            self.process = _ForkedProcess(self.server_name(), limit, theirs)  # type: ignore[assignment]
            return self.process.pid

        with theirs:
            self.memory = limit_memory(self.terms, start)
        self.owner = os.getpid()


def forking() -> list[str]:
    """The words that begin a `shrink` whose keepers come from this process's server; where that has none, `shrink`."""
    keeper = guarded.KEEPER
    if not isinstance(keeper, ForkedKeeper):
        return [sys.executable, "-m", "shrinkray_gpu"]
    return [sys.executable, str(COMMAND), keeper.server_name()]


class _ForkedProcess:
    """A keeper of a server's."""

    def __init__(self, name: str, limit: MemoryLimit, control: socket.socket) -> None:
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect(b"\0" + name.encode())
            order: dict[str, Any] = {"memory": json.dumps(limit.message())}
            wire.send(asking, order, (control.fileno(),))
            self.pid: int = wire.receive(asking, STARTS)[0]["pid"]
        self.end = os.pidfd_open(self.pid)

    def poll(self) -> int | None:
        waiting = select.poll()
        waiting.register(self.end, select.POLLIN)
        return 0 if waiting.poll(0) else None
