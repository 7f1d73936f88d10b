"""Commands that end with all that they started, and with this process: each has a guard, see `inside/keeper`."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from shrinkray_gpu.runner.host_memory import SHORT, MemoryLimit, MemoryTerms, limit_memory
from shrinkray_gpu.runner.inside.process import wire
from shrinkray_gpu.runner.inside.process.descendants import PATIENCE

MAIN = Path(__file__).parent / "inside" / "main.py"
STARTS = 180.0
"""Seconds in which a command is started, on a machine that is busy; by a zygote that may have to import torch first."""
AGAIN = (0.1, 1.0)
"""Seconds after which a command is asked for again, whose keeper or guard was killed: until the keeper is known to have
ended, on a machine that is busy."""


class KeeperKilled(ConnectionError):
    """What starts commands was killed, each time that it was asked."""


class Asked(Protocol):
    """What starts commands."""

    def ask(self, order: dict[str, Any], fds: tuple[int, ...]) -> None: ...


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
        server: bool | None = False,
        zygote: Asked | None = None,
    ) -> None:
        """`out`, `err` and `links` are files that it gets; the numbers of `links` are its last arguments. `server`:
        each of its children is a candidate, else it is one; None: it is a keeper. `zygote` forks it, if that can.
        Raises OSError where it cannot be started, KeeperKilled."""
        order = {"command": list(command), "environment": dict(environment), "cwd": str(cwd), "server": server}
        self.status: int | None = None
        """How it ended, once that is known: as `subprocess` has it."""
        self._closing = threading.Lock()
        for asked, pause in [(zygote, 0.0)] * (zygote is not None) + [(None, pause) for pause in (*AGAIN, None)]:
            self.tie, theirs = socket.socketpair()
            try:
                with theirs:
                    (asked or KEEPER).ask(order, (theirs.fileno(), out, err, *links))
                answer, _ = wire.receive(self.tie, STARTS)
                break
            except ConnectionError as error:  # somebody killed what is asked just now, or the guard
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


class Keeper:
    """The keeper of this process, started when it is needed, and once more where it was killed."""

    def __init__(self, terms: MemoryTerms) -> None:
        self.terms = terms
        self.memory = MemoryLimit(terms, "", "")
        self.lock = threading.Lock()
        self.ended: dict[int, int] = {}
        """Processes of candidates that it ended for their memory, and the bytes that each of these candidates held."""
        self.owner = 0
        """The process that started it: a fork of that has one of its own."""
        self.beside: list[socket.socket] = []
        """The controls of zygotes, which end candidates as it does."""
        self.process: subprocess.Popen[bytes]
        self.control: socket.socket

    def ask(self, order: dict[str, Any], fds: tuple[int, ...]) -> None:
        with self.lock:
            if self.owner != os.getpid() or self.process.poll() is not None:
                self._start()
            wire.send(self.control, order, fds, wire.WHOLE)

    def ended_for_memory(self, pid: int) -> str:
        """Why the candidate that began with this process was ended, where that was for its host memory; else empty."""
        with self.lock:
            for control in (self.control, *self.beside):
                with contextlib.suppress(OSError):
                    while True:
                        told, _ = wire.receive(control, 0.0)
                        self.ended |= dict.fromkeys(told["ended"], told["held"])
            held = self.ended.pop(pid, 0)
        return f"{SHORT}, and the candidate, which held {held / 1e9:.1f} GB, was ended" if held else ""

    def _start(self) -> None:
        self.control, theirs = socket.socketpair()

        def start(limit: MemoryLimit) -> int:
            self.process = subprocess.Popen(
                [sys.executable, "-ISB", str(MAIN), "--keeper", json.dumps(limit.message()), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
            return self.process.pid

        with theirs:
            self.memory = limit_memory(self.terms, start)
        self.owner = os.getpid()


KEEPER = Keeper(MemoryTerms())


class MemoryCheck:
    """On one run, whose beginning this is."""

    def __init__(self) -> None:
        self.kills = KEEPER.memory.kills()

    def trouble(self, pid: int, killed: bool) -> str:
        """Why the run tells nothing, if it was for the host's memory; else empty. `killed`: whether SIGKILL ended the
        process `pid`, with which it began, or nothing did."""
        if killed and (why := KEEPER.ended_for_memory(pid)):
            return why
        # Without a group these may be anybody's processes: then they count where something is odd with ours.
        theirs = KEEPER.memory.kills() > self.kills and (killed or KEEPER.memory.group)
        return f"{SHORT}, and the kernel ended a process" if theirs else ""
