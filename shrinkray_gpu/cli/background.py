"""Commands of ours as processes beside this one, for a caller that asks later what became of them."""

from __future__ import annotations

import contextlib
import itertools
import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from shrinkray_gpu.device.own_commands import start_command
from shrinkray_gpu.events import Message, SearchProgress, printed_result

LAST = 20
"""Lines of what a command says that are told."""
PATIENCE = 30.0
"""Seconds for a command to end that was told to."""
_REDUCED, _INTERRUPTED = 0, 130
"""Exit codes. Both may come with a result, and the second without one too."""


def command(words: Sequence[str]) -> list[str]:
    """`shrink WORDS...` in this interpreter."""
    return [sys.executable, "-m", "shrinkray_gpu", *words]


def start(words: Sequence[str], folder: Path, out: Any, said: Any) -> subprocess.Popen[bytes]:
    """`shrink WORDS...` in `folder`. It ends when this process does, however that ends. Raises OSError."""
    return start_command(command(words), signal.SIGTERM, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=said)


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
    told: bool = False
    """To stop. A second time would mean: without the check."""

    def __post_init__(self) -> None:
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        self.process.wait()
        self.ended = time.monotonic()

    @property
    def seconds(self) -> float:
        """From its start to its end, or to now."""
        return (self.ended or time.monotonic()) - self.began

    def read(self, file: IO[bytes]) -> str:
        return Path(file.name).read_bytes().decode("utf-8", "replace")

    def status(self) -> dict[str, Any]:
        """`state` is running, done or failed; the words are the last that it said."""
        code = self.process.poll()
        out = self.read(self.out)
        done = code in (_REDUCED, _INTERRUPTED) and bool(printed_result(out))
        state = "running" if code is None else "done" if done else "failed"
        lines = [*_lines(out), *self.read(self.said).splitlines()][-LAST:]
        return {"state": state, "exit_code": code, "seconds": round(self.seconds, 1), "said": lines}

    def result(self) -> dict[str, Any]:
        """What came out; of one that is not over, its status; of one that failed, why."""
        told = self.status()
        if told["state"] == "running":
            return told
        if told["state"] == "done":
            return {"state": "done", "exit_code": told["exit_code"], **printed_result(self.read(self.out))}
        return {**told, "error": complaint(self.read(self.said))}

    def stop(self) -> None:
        """As Ctrl-C does: the best so far is checked, and is the result."""
        if self.process.poll() is None and not self.told:
            self.told = True
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


def _lines(out: str) -> list[str]:
    """What the events of a command say to a person, and how far its search is."""
    said, progress = [], ""
    for line in out.splitlines():
        with contextlib.suppress(ValueError):  # it is writing this one
            event = json.loads(line)
            if event.get("event") == Message.name:
                said.append(str(event["text"]))
            elif event.get("event") == SearchProgress.name:
                progress = f"round {event['round']}: {event['lines']} lines, {event['tokens']} tokens ({event['by']})"
    return [*said, progress] if progress else said


class Background:
    """The commands of one caller, by names that it is told."""

    def __init__(self) -> None:
        self.commands: dict[str, Running] = {}
        self._numbers = itertools.count(1)

    def start(self, words: Sequence[str], folder: Path) -> str:
        out, said = tempfile.NamedTemporaryFile(), tempfile.NamedTemporaryFile()
        name = f"r{next(self._numbers)}"
        self.commands[name] = Running(start(words, folder, out, said), out, said)
        return name

    def close(self) -> None:
        for each in self.commands.values():
            each.stop()
        for each in self.commands.values():
            each.close()
