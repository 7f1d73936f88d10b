"""Commands of the tool's own (compilers, disassemblers, questions to an interpreter), which end with the tool, also by
`kill -9`. What runs a candidate has a guard instead: see `runner/guarded`."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

DIE_WITH_PARENT = 1
ANSWER = 30.0
"""Seconds that a call into a vendor's library may take: some where many GPUs are waking up."""
_prctl = ctypes.CDLL(None).prctl


def run_command(command: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess[Any]:
    """As `subprocess.run`."""
    return subprocess.run(command, preexec_fn=tie(signal.SIGKILL), **options)


def tie(number: signal.Signals) -> Callable[[], None]:
    """What a new process must call to get this signal when the thread that started it ends."""
    tool = os.getpid()

    def tied() -> None:
        _prctl(DIE_WITH_PARENT, number, 0, 0, 0)
        if os.getppid() != tool:  # it ended just before
            os._exit(1)

    return tied


def answer_of(code: str) -> str:
    """What this Python code prints in a process of its own; less where it ends in an exception. For a call into a
    driver whose GPU may be lost: that may never return, and no signal ends it then. Raises TimeoutError."""
    command = [sys.executable, "-ISB", "-c", code]
    asked = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        return asked.communicate(timeout=ANSWER)[0].decode(errors="replace")
    except subprocess.TimeoutExpired as error:
        asked.kill()  # and nobody waits for its end, which may never come
        raise TimeoutError(f"no answer in {ANSWER:g} s") from error
