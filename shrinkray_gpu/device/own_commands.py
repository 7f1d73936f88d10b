"""Commands of the tool's own (compilers, disassemblers, questions to an interpreter), which end with the tool, also by
`kill -9`. What runs a candidate has a guard instead: see `runner/guarded`."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DIE_WITH_PARENT = 1
ANSWER = 30.0
"""Seconds that a call into a vendor's library may take: some where many GPUs are waking up."""
INSIDE = "SHRINK_INSIDE_PYTEST"
"""In the environment of a command of ours that runs tests: a pytest in it, whose settings may say --shrink, reduces
nothing."""
AROUND = 600.0
"""Seconds beside a reduction's search: runs of the original, the final check, the attachment. Then the best so far will
do."""
PATIENCE = 300.0
"""Seconds for a reduction to end that was told to: its final check makes several clean runs."""
_LOOKS = 1.0
"""Seconds between two looks whether a command is over."""
_prctl = ctypes.CDLL(None).prctl


def run_command(
    command: Sequence[str | Path],
    *,
    input: Any = None,
    capture_output: bool = False,
    timeout: float | None = None,
    **options: Any,
) -> subprocess.CompletedProcess[Any]:
    """As `subprocess.run`."""
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if input is not None:
        options["stdin"] = subprocess.PIPE
    with start_command(command, signal.SIGKILL, **options) as process:
        try:
            out, said = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, said)


def printed_by(command: Sequence[str | Path], *, seconds: float = 60.0, **options: Any) -> str:
    """What a command prints; nothing where it cannot be started, or does not end in so many seconds."""
    try:
        return str(run_command(command, capture_output=True, text=True, timeout=seconds, **options).stdout)
    except (OSError, subprocess.SubprocessError):
        return ""


def start_command(command: Sequence[str | Path], end: signal.Signals, **options: Any) -> subprocess.Popen[Any]:
    """As `subprocess.Popen`. The command gets the signal `end` when the thread that started it ends."""
    with _ctrl_c_held_back():
        return subprocess.Popen(command, preexec_fn=_tie(end), **options)


@contextmanager
def _ctrl_c_held_back() -> Iterator[None]:
    """Ctrl-C is heard at the end of it. Within a fork Python runs hooks (one of them lets go of the lock of `logging`),
    and ignores what is raised there, a KeyboardInterrupt too."""
    heard, handler = [], signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if heard:
            signal.raise_signal(signal.SIGINT)


def _tie(number: signal.Signals) -> Callable[[], None]:
    """What a new process must call to get this signal when the thread that started it ends."""
    tool = os.getpid()

    def tied() -> None:
        _prctl(DIE_WITH_PARENT, number, 0, 0, 0)
        if os.getppid() != tool:  # it ended just before
            os._exit(1)

    return tied


def answer_of(code: str, environment: Mapping[str, str] | None = None) -> str:
    """What this Python code prints in a process of its own; less where it ends in an exception. For a call into a
    driver whose GPU may be lost: that may never return, and no signal ends it then. Raises TimeoutError."""
    command = [sys.executable, "-ISB", "-c", code]
    asked = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        return asked.communicate(timeout=ANSWER)[0].decode(errors="replace")
    except subprocess.TimeoutExpired as error:
        asked.kill()  # and nobody waits for its end, which may never come
        raise TimeoutError(f"no answer in {ANSWER:g} s") from error


@dataclass(frozen=True)
class EndedCommand:
    """A command that came to its end."""

    code: int
    out: str
    said: str
    interrupted: bool


def finished(
    command: Sequence[str],
    folder: Path,
    limit: float,
    patience: float = PATIENCE,
    over: threading.Event | None = None,
) -> EndedCommand | None:
    """Told to end after `limit` seconds, or by Ctrl-C, it gives its best so far; None if it does not end within
    `patience` even then. It hears one SIGINT only, since a second one would leave out the check of the result: a
    terminal's own does not reach its session. A second Ctrl-C here ends it at once. `over`: what stands for Ctrl-C in a
    thread that does not hear it."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    process = start_command(
        command,
        signal.SIGTERM,  # since no hangup of the terminal reaches it
        cwd=folder,
        env={**environment, INSIDE: "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    interrupted = False
    try:
        try:
            out, said = _communicate(process, limit, over)
        except (subprocess.TimeoutExpired, KeyboardInterrupt) as why:
            interrupted = isinstance(why, KeyboardInterrupt)
            process.send_signal(signal.SIGINT)
            out, said = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    return EndedCommand(process.returncode, out, said, interrupted)


def _communicate(process: subprocess.Popen[str], limit: float, over: threading.Event | None) -> tuple[str, str]:
    """As `communicate`; raises KeyboardInterrupt when it is over."""
    until = time.monotonic() + limit
    while True:
        left = until - time.monotonic()
        try:
            return process.communicate(timeout=left if over is None else max(0, min(_LOOKS, left)))
        except subprocess.TimeoutExpired:
            if over is not None and over.is_set():
                raise KeyboardInterrupt from None
            if left <= _LOOKS or over is None:
                raise
