"""One reduction by the real command, in a process of its own, and what can be seen and done of it from outside."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.e2e.command import environment

ROOT = Path(__file__).parents[3]
GONE = 30.0
"""Seconds after the tool's end in which all that it started must have ended, on a machine with much else to do."""


@dataclass(frozen=True)
class Subject:
    """What is reduced, and by which words."""

    name: str
    text: str
    words: tuple[str, ...]
    file: str = "failing.py"
    timeout: str = "4"
    """Seconds in which it ends surely, where nothing answers: its imports, too, on a machine with much else to do."""

    def write(self, folder: Path) -> None:
        folder.joinpath(self.file).write_text(self.text)


@dataclass(frozen=True)
class Ended:
    """How a command ended. `late`: it was killed at its limit."""

    code: int
    out: str
    err: str
    seconds: float
    late: bool
    left: tuple[str, ...]
    """Processes that were there still after GONE seconds."""
    emptied: float
    """Seconds from the tool's end to that of the last process it had started."""

    @property
    def message(self) -> str:
        """What stands behind `shrink: `, to the end."""
        _, mark, rest = ("\n" + self.err).rpartition("\nshrink: ")
        return rest.strip() if mark else ""


@dataclass
class Tool:
    """A command at work. Its processes are known by a word in their environment."""

    process: subprocess.Popen[str]
    word: str
    began: float = field(default_factory=time.monotonic)
    strangers: set[tuple[int, int]] = field(default_factory=set)
    """Processes that are none of its own, by number and begin: /proc is read many times, and `environ` is dear."""

    def seconds(self) -> float:
        return time.monotonic() - self.began

    def is_at_work(self) -> bool:
        return self.process.poll() is None

    def ended(self, limit: float) -> Ended:
        """Wait for its end, no longer than `limit` seconds from its beginning, then for that of all it started."""
        late = False
        try:
            out, err = self.process.communicate(timeout=max(0.1, limit - self.seconds()))
        except subprocess.TimeoutExpired:
            late = True
            self.process.kill()
            out, err = self.process.communicate()
        took = self.seconds()
        left = tuple(self.left())
        return Ended(self.process.returncode, out, err, took, late, left, self.seconds() - took)

    def left(self) -> list[str]:
        """What goes on GONE seconds after the tool's end. It is ended here."""
        limit = time.monotonic() + GONE
        while (found := list(self.carriers())) and time.monotonic() < limit:
            time.sleep(0.02)
        for one in found:
            with contextlib.suppress(OSError):
                os.kill(one.pid, signal.SIGKILL)
        return [str(one) for one in found]

    def carriers(self) -> Iterator[Process]:
        """All processes of it but the tool itself."""
        for pid, parent, since in processes():
            if pid != self.process.pid and (pid, since) not in self.strangers:
                environ = _read(pid, "environ")
                if self.word.encode() in environ:
                    command = _read(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace").strip()
                    yield Process(pid, parent, command)
                elif environ:  # while a program is loaded it is empty
                    self.strangers.add((pid, since))

    def lanes(self) -> list[int]:
        """Forks of workers, which run candidates."""
        found = list(self.carriers())
        return _lanes(found, set(_workers(found)))

    def workers(self) -> list[int]:
        """Fork servers."""
        return _workers(list(self.carriers()))

    def cold(self) -> list[int]:
        return _cold(self.carriers())

    def runs(self) -> list[int]:
        """All that run candidates."""
        found = list(self.carriers())
        return _lanes(found, set(_workers(found))) + _cold(found)

    def keepers(self) -> list[int]:
        """The keeper, and the guards that it forked."""
        return _keepers(self.carriers())


@dataclass(frozen=True)
class Process:
    pid: int
    parent: int
    command: str

    def __str__(self) -> str:
        return f"{self.pid} {self.command}"


def _keepers(found: Iterable[Process]) -> list[int]:
    return [one.pid for one in found if "--keeper" in one.command]


def _workers(found: Sequence[Process]) -> list[int]:
    guards = set(_keepers(found))
    return [
        one.pid for one in found if one.parent in guards and "main.py" in one.command and "--" not in one.command
    ]


def _lanes(found: Iterable[Process], workers: set[int]) -> list[int]:
    return [one.pid for one in found if one.parent in workers and "main.py" in one.command]


def _cold(found: Iterable[Process]) -> list[int]:
    return [one.pid for one in found if "--cold" in one.command]


def processes() -> Iterator[tuple[int, int, int]]:
    """Of each that has not ended its number, its parent's, and when it began."""
    for entry in filter(str.isdecimal, os.listdir("/proc")):
        stat = _read(int(entry), "stat").rpartition(b") ")[2].split()
        if stat and stat[0] not in (b"Z", b"X"):
            yield int(entry), int(stat[1]), int(stat[19])


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


SHRINK = ("-m", "shrinkray_gpu")
SEES_A_GPU = (
    "from shrinkray_gpu.device import gpus; gpus.present = lambda: True; "
    "from shrinkray_gpu.cli.main import main; main()"
)
"""The command, of which the machine has a GPU, whether it has one or not."""


def started(
    subject: Subject, *words: str, folder: Path, more: Mapping[str, str] = {}, program: Sequence[str] = SHRINK
) -> Tool:
    """The command at work in this folder, where the subject was written."""
    word = uuid.uuid4().hex
    known = {**environment(), "PYTHONPATH": str(ROOT), "INJECTED": word, **more}
    command = [sys.executable, *program, subject.file, *subject.words, *words]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=known,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    return Tool(process, word)
