"""Commands of ours as processes beside this one, for a caller that asks later what became of them."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

LAST = 20
"""Lines of what a command says that are told."""
PATIENCE = 30.0
"""Seconds for a command to end that was told to."""


def command(words: Sequence[str]) -> list[str]:
    """`shrink WORDS...` in this interpreter."""
    return [sys.executable, "-m", "shrinkray_gpu", *words]


def last_object(out: str) -> dict[str, Any]:
    """The JSON object that a command printed, or the last of several, one a line; empty if there is none."""
    for text in (out, out.strip().rpartition("\n")[2]):
        try:
            found = json.loads(text)
        except ValueError:
            continue
        if isinstance(found, dict):
            return found
    return {}


def complaint(said: str) -> str:
    """The line that a command ended with."""
    lines = [line for line in said.splitlines() if line.strip()]
    return next((line for line in lines if line.startswith("shrink: ")), lines[-1] if lines else "it said nothing")


@dataclass
class Running:
    """One command. What it prints goes to files, so that it never waits for a reader."""

    process: subprocess.Popen[bytes]
    out: IO[bytes]
    said: IO[bytes]
    began: float = field(default_factory=time.monotonic)
    ended: float | None = None

    @property
    def seconds(self) -> float:
        if self.ended is None and self.process.poll() is not None:
            self.ended = time.monotonic()
        return (self.ended or time.monotonic()) - self.began

    def read(self, file: IO[bytes]) -> str:
        return Path(file.name).read_bytes().decode("utf-8", "replace")

    def status(self) -> dict[str, Any]:
        """`state` is running, done or failed; the words are the last that it said."""
        code = self.process.poll()
        state = "running" if code is None else "done" if code in (0, 130) else "failed"
        lines = self.read(self.said).splitlines()[-LAST:]
        return {"state": state, "exit_code": code, "seconds": round(self.seconds, 1), "said": lines}

    def result(self) -> dict[str, Any]:
        """What came out; of one that is not over, its status; of one that failed, why."""
        told = self.status()
        if told["state"] == "running":
            return told
        found = last_object(self.read(self.out))
        if "text" in found and told["state"] == "done":
            return {"state": "done", "exit_code": told["exit_code"], **found}
        return {**told, "state": "failed", "error": complaint(self.read(self.said))}

    def stop(self) -> None:
        """As Ctrl-C does: the best so far is checked, and is the result."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)

    def close(self) -> None:
        """End it, and forget what it said."""
        self.stop()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for file in (self.out, self.said):
            file.close()


class Background:
    """The commands of one caller, by names that it is told."""

    def __init__(self) -> None:
        self.commands: dict[str, Running] = {}
        self._numbers = itertools.count(1)

    def start(self, words: Sequence[str], folder: Path) -> str:
        out, said = tempfile.NamedTemporaryFile(), tempfile.NamedTemporaryFile()
        process = subprocess.Popen(
            command(words), cwd=folder, env=dict(os.environ), stdin=subprocess.DEVNULL, stdout=out, stderr=said
        )
        name = f"r{next(self._numbers)}"
        self.commands[name] = Running(process, out, said)
        return name

    def close(self) -> None:
        for each in self.commands.values():
            each.stop()
        for each in self.commands.values():
            each.close()
