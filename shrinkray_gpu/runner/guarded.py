"""Commands that end with all that they started, and with this process: each has a guard, see `inside/keeper`."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shrinkray_gpu.runner.inside.process import wire
from shrinkray_gpu.runner.inside.process.descendants import PATIENCE

MAIN = Path(__file__).parent / "inside" / "main.py"
STARTS = 60.0
"""Seconds in which a command is started, on a machine that is busy."""
AGAIN = (0.1, 1.0)
"""Seconds after which a command is asked for again, whose keeper or guard was killed: until the keeper is known to have
ended, on a machine that is busy."""


class KeeperKilled(ConnectionError):
    """What starts commands was killed, each time that it was asked."""


class Guarded:
    """A command that runs in a session of its own, without standard input."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        cwd: str | Path,
        out: int,
        err: int,
        links: tuple[int, ...] = (),
    ) -> None:
        """`out`, `err` and `links` are files that it gets; the numbers of `links` are its last arguments. Raises
        OSError where it cannot be started, KeeperKilled."""
        order = {"command": list(command), "environment": dict(environment), "cwd": str(cwd)}
        self.status: int | None = None
        """How it ended, once that is known: as `subprocess` has it."""
        self._closing = threading.Lock()
        for pause in (*AGAIN, None):
            self.tie, theirs = socket.socketpair()
            try:
                with theirs:
                    _KEEPER.ask(order, (theirs.fileno(), out, err, *links))
                answer, _ = wire.receive(self.tie, STARTS)
                break
            except ConnectionError as error:  # somebody killed the keeper just now, or the guard
                self.tie.close()
                if pause is None:
                    raise KeeperKilled("the process that starts and ends programs was killed") from error
                time.sleep(pause)
        if "failed" in answer:
            self.tie.close()
            raise OSError(answer["failed"], os.strerror(answer["failed"]))
        self.pid: int = answer["started"]

    def wait(self, seconds: float) -> int | None:
        """How it ended, when nothing of it is left; None if it goes on, or its guard was killed."""
        if self.status is None:
            with contextlib.suppress(OSError):
                self.status = wire.receive(self.tie, seconds)[0]["status"]
        return self.status

    def close(self) -> None:
        """End it, with all that it started. Two threads may do so at a time."""
        with self._closing:
            if self.tie.fileno() < 0:
                return
            if self.status is None:
                with contextlib.suppress(OSError):
                    self.tie.shutdown(socket.SHUT_WR)
                self.wait(PATIENCE + 2)
            self.tie.close()


class _Keeper:
    """The keeper of this process, started when it is needed, and once more where it was killed."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.owner = 0
        """The process that started it: a fork of that has one of its own."""
        self.process: subprocess.Popen[bytes]
        self.control: socket.socket

    def ask(self, order: dict[str, Any], fds: tuple[int, ...]) -> None:
        with self.lock:
            if self.owner != os.getpid() or self.process.poll() is not None:
                self._start()
            wire.send(self.control, order, fds, wire.WHOLE)

    def _start(self) -> None:
        self.control, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-ISB", str(MAIN), "--keeper", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        self.owner = os.getpid()


_KEEPER = _Keeper()
