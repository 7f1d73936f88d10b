"""Processes that have imported torch and Triton, and fork themselves in place of interpreters that would.

Not for a run that is evidence of how a process begins, or that hashes of strings have no part in the fault: the first
of the user's program, those that confirm a step, and those of the final check.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from shrinkray_gpu.device import coredump
from shrinkray_gpu.runner import guarded
from shrinkray_gpu.runner.inside.process import wire

LIBRARIES = ("torch", "triton", "triton.language")
READ_LATER = coredump.VARIABLES | {
    "CUDA_CACHE_PATH",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_VISIBLE_DEVICES",
    "PYTORCH_NVML_BASED_CUDA_CHECK",
    "TMPDIR",
    "TORCHINDUCTOR_CACHE_DIR",
    "TORCH_EXTENSIONS_DIR",
    "TRITON_CACHE_DIR",
    "TRITON_REPRODUCER_PATH",
}
"""What the tool sets for a run, and nobody reads before a context, a kernel or a temporary file is made. In all else of
the environment a fork is as its zygote was when that started."""
MOST = 3
"""Zygotes at once: of the GPU, of the virtual one beside it, of another interpreter. Each holds some 200 MB."""
IMPORTS = 60.0
"""Seconds in which one imports its libraries, on a slow disk. Who waits longer has an interpreter of its own."""
FORKS = 10.0
"""Seconds in which one forks itself, on a machine that is busy."""
AGAIN = 2
"""How often one is made that is as another which was given up."""


class Zygote:
    """One interpreter in one environment. It imports beside whatever goes on here; who asks meanwhile waits."""

    def __init__(self, python: str, environment: Mapping[str, str]) -> None:
        """Raises OSError where it cannot be started."""
        self.lock, self.owner = threading.Lock(), os.getpid()
        self.control, theirs = socket.socketpair()
        with theirs, open(os.devnull, "wb") as nowhere:
            self.process = guarded.Guarded(
                [python, "-B", str(guarded.MAIN), "--zygote"],
                environment=environment,
                cwd="/",
                out=nowhere.fileno(),
                err=nowhere.fileno(),
                links=(theirs.fileno(),),
                server=None,
            )
        self.keeper, self.began, self.given_up = guarded.KEEPER, time.monotonic(), False
        self.keeper.beside.append(self.control)
        memory = {**self.keeper.memory.message(), "group": ""}  # it is in that of the keeper
        wire.send(self.control, {"imports": LIBRARIES, "own": (), "memory": memory}, seconds=wire.WHOLE)

    def ask(self, order: dict[str, Any], fds: tuple[int, ...]) -> tuple[int, ...]:
        """Raises ConnectionError where it is gone, or another process of the tool's made it."""
        with self.lock:
            if self.owner != os.getpid() or self.given_up:
                raise ConnectionError
            wire.send(self.control, order, fds, wire.WHOLE)
            return (*self.process.above, self.process.pid)

    def patience(self) -> float:
        return max(FORKS, self.began + IMPORTS - time.monotonic())

    def give_up(self, asked: float) -> None:
        """It is ended when the next one is asked for, which waits for that."""
        with self.lock:
            if self.owner == os.getpid() and not self.given_up:
                self.given_up = True
                self.keeper.say(
                    "a process with torch imported, which forks others, was killed or does not answer: "
                    "new interpreters take its place"
                )

    def close(self) -> None:
        self.keeper.beside.remove(self.control)
        self.control.close()
        self.process.close()


class Zygotes:
    """Those of this process, while somebody wants them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._made: dict[tuple[str, frozenset[tuple[str, str]]], Zygote] = {}
        self._given_up: Counter[tuple[str, frozenset[tuple[str, str]]]] = Counter()

    @contextlib.contextmanager
    def wanted(self, say: Callable[[str], None] | None = None) -> Iterator[None]:
        """There may be some from here on. All end with the last that wants them. `say` tells of those given up."""
        with self._lock:
            self._users += 1
            guarded.KEEPER.say = say or guarded.KEEPER.say
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                while self._made and not self._users:
                    self._made.popitem()[1].close()

    def get(self, python: str, environment: Mapping[str, str], *, forked: bool) -> Zygote | None:
        """One whose forks are as this interpreter in this environment; None where a new one is needed, as where it is
        not to be `forked`. Beside the first process of all one comes up in any case, for those that follow."""
        key = python, frozenset(item for item in environment.items() if item[0] not in READ_LATER)
        with self._lock:
            if key in self._made and self._made[key].given_up:
                self._made.pop(key).close()
                self._given_up[key] += 1
            room = len(self._made) < (MOST if forked else 1) and self._given_up[key] <= AGAIN
            if self._users and key not in self._made and room:
                with contextlib.suppress(OSError):  # who starts the interpreter says what is wrong with it
                    self._made[key] = Zygote(python, environment)
            return self._made.get(key) if forked else None


ZYGOTES = Zygotes()
