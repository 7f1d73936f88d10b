"""The worker that answers questions about IR: `libtriton` is imported once, and each question forks a child.

The parent parses nothing and runs no pass, so it never starts a thread of MLIR's, and a fork of it is whole.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any

from ..process import wire
from . import binding, trial

SAID = 200_000
"""Bytes of what a child printed that are told."""
Child = Callable[[trial.Tell], None]


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[-1]))
    control.set_inheritable(False)
    setup, _ = wire.receive(control)
    try:
        worker = IrWorker(setup["folder"])
        wire.send(control, {"ready": "", **worker.known(setup["arch"])})
    except (ImportError, AttributeError, ValueError) as error:
        wire.send(control, {"ready": f"{type(error).__name__}: {error}"})
        return
    while True:
        try:
            order, _ = wire.receive(control)
        except wire.ConnectionClosed:
            return
        wire.send(control, worker.answer(order))


class IrWorker:
    """One context, shared by copy with all children."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.lib = binding.libtriton()
        self.context = binding.context()

    def known(self, arch: str) -> dict[str, Any]:
        """The release, its passes, and whether it compiles for the architecture; raises ValueError if not."""
        import triton

        if arch:
            from . import stages

            stages.target(arch)
        return {"triton": triton.__version__, "passes": self._passes()}

    def _passes(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        skip, ended = 0, False
        while not ended:
            answer = self.child(partial(trial.described_passes, self.context, skip), 60)
            found += [event["pass"] for event in answer["events"] if "pass" in event]
            tried = [event["try"] for event in answer["events"] if "try" in event]
            ended = answer["status"] == 0 or not tried
            skip = tried[-1] + 1 if tried else skip
        return found

    def answer(self, order: dict[str, Any]) -> dict[str, Any]:
        text, seconds = order["text"], order["seconds"]
        ctx, folder = self.context, self.folder
        if order["ask"] == "normal":
            return self.child(lambda tell: trial.normalised(ctx, text, folder, tell), seconds)
        if order["ask"] == "stages":
            from . import stages

            return self.child(lambda tell: stages.run_stages(ctx, text, order, folder, tell), seconds)
        steps, snapshots = order["steps"], order["snapshots"]
        return self.child(lambda tell: trial.run_steps(ctx, text, steps, snapshots, folder, tell), seconds)

    def child(self, work: Child, seconds: int) -> dict[str, Any]:
        """Do the work in a fork: what it told, what it printed, and how it ended, as `os.wait` has it."""
        reading, writing = os.pipe()
        with tempfile.TemporaryFile(dir=self.folder) as said:
            pid = os.fork()
            if not pid:
                _work(work, writing, said.fileno(), seconds)
            os.close(writing)
            with os.fdopen(reading, "rb") as told:
                lines = told.read().split(b"\n")
            _, status = os.waitpid(pid, 0)
            said.seek(0)
            printed = said.read(SAID).decode("utf-8", "replace")
        events = [json.loads(line) for line in lines[:-1]]
        return {"events": events, "said": printed, "status": status}


def _work(work: Child, writing: int, said: int, seconds: int) -> None:
    """In the child; never returns. Exit status 1: an exception of Python's, whose text is told."""
    status = 1
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(seconds)
        os.dup2(said, 1)
        os.dup2(said, 2)
        tell = trial.teller(writing)
        try:
            work(tell)
            status = 0
        except Exception as error:
            tell({"raised": type(error).__name__ + ": " + str(error)})
    finally:
        os._exit(status)
