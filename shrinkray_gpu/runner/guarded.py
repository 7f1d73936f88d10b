"""Commands that end with all that they started, and with this process: each has a guard, see `inside/keeper`."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from shrinkray_gpu.runner.host_memory import SHORT, MemoryLimit, MemoryTerms, limit_memory
from shrinkray_gpu.runner.inside.process import wire
from shrinkray_gpu.runner.inside.process.descendants import PATIENCE

MAIN = Path(__file__).parent / "inside" / "main.py"
STARTS = 30.0
"""Seconds in which the keeper starts a command, on a machine that is busy. Elsewhere it takes milliseconds."""
LOOKS = 1.0
"""Seconds after which a process that is waited for is told to go on: somebody may have stopped it."""
AGAIN = (0.1, 1.0)
"""Seconds after which a command is asked for again, whose keeper or guard was killed: until the keeper is known to have
ended, on a machine that is busy."""


class KeeperKilled(ConnectionError):
    """What starts commands was killed, or did not answer, each time that it was asked."""


class Asked(Protocol):
    """What starts commands."""

    def ask(self, order: dict[str, Any], fds: tuple[int, ...]) -> tuple[int, ...]:
        """Have it start one. Returns the processes that see to it, the first one above the others. Raises
        ConnectionError where they are gone, TimeoutError where they do not take it."""
        ...

    def patience(self) -> float:
        """Seconds in which it answers."""
        ...

    def give_up(self, asked: float) -> None:
        """It did not do what it was asked for at that time: it is asked no more as it is."""
        ...


def answer(link: socket.socket, seconds: float, above: Callable[[], Iterable[int]]) -> dict[str, Any]:
    """The next message on `link`, of the processes `above`, which go on wherever one of them was stopped. Raises as
    `wire.receive` does."""
    until = time.monotonic() + seconds
    while True:
        for pid in above():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGCONT)
        left = until - time.monotonic()
        try:
            return wire.receive(link, max(0.0, min(LOOKS, left)))[0]
        except TimeoutError:
            if left <= LOOKS:
                raise


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
            starts, began = asked or KEEPER, time.monotonic()
            try:
                with theirs:
                    self.above = starts.ask(order, (theirs.fileno(), out, err, *links))
                told = answer(self.tie, starts.patience(), lambda: self.above)
                break
            except (ConnectionError, TimeoutError) as error:
                self.tie.close()
                if isinstance(error, TimeoutError) or starts is zygote:
                    starts.give_up(began)
                if pause is None:
                    how = "does not answer" if isinstance(error, TimeoutError) else "was killed"
                    raise KeeperKilled(f"the process that starts and ends programs {how}") from error
                time.sleep(pause)
        if "failed" in told:
            self.tie.close()
            raise OSError(told["failed"], os.strerror(told["failed"]))
        self.pid: int = told["started"]

    def wait(self, seconds: float) -> int | None:
        """How it ended, when nothing of it is left; None if it goes on, or its guard was killed."""
        if self.status is None:
            with contextlib.suppress(OSError):
                self.status = answer(self.tie, seconds, lambda: self.above)["status"]
        return self.status

    def whole(self) -> tuple[int, ...]:
        """It, and the processes that it hangs on."""
        return (*self.above, self.pid)

    def is_stopped(self) -> bool:
        """Whether its guard is, so that nobody tells of its end."""
        with contextlib.suppress(OSError, IndexError):
            return _stat(int(_stat(self.pid)[1]))[0] in (b"T", b"t")
        return False

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
        self.owner, self.started = 0, 0.0
        """The process that started it, of which a fork has one of its own; and when."""
        self.beside: list[socket.socket] = []
        """The controls of zygotes, which end candidates as it does."""
        self.say: Callable[[str], None] = lambda text: None
        """Tells the user where it, or a zygote, was given up."""
        self.process: subprocess.Popen[bytes]
        self.control: socket.socket

    def ask(self, order: dict[str, Any], fds: tuple[int, ...]) -> tuple[int, ...]:
        with self.lock:
            if self.owner != os.getpid() or self.process.poll() is not None:
                self._start()
            wire.send(self.control, order, fds, wire.WHOLE)
            return (self.process.pid,)

    def patience(self) -> float:
        return STARTS

    def give_up(self, asked: float) -> None:
        """End it, with all that it guards: another one comes when it is asked next."""
        with self.lock:
            if self.owner == os.getpid() and self.started <= asked:
                self.process.kill()
                self.owner = 0  # a debugger that holds it hides its end
                self.say("the process that starts and ends programs does not answer: another one takes its place")

    def ended_for_memory(self, pid: int) -> str:
        """Why the candidate that began with this process was ended, where that was for its host memory; else empty."""
        with self.lock:
            for control in [*([self.control] if self.owner else []), *self.beside]:
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
        self.owner, self.started = os.getpid(), time.monotonic()


def _stat(pid: int) -> list[bytes]:
    """Its state, its parent and what follows."""
    return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2].split()


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
