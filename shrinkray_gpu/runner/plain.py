"""Runs a file as its user would: `python FILE ARGS...`, a process of its own and nothing of ours in it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from shrinkray_gpu.runner.run import Run

KEPT = 128 * 1024


def run_file(
    python: str, path: Path, argv: Sequence[str], *, environment: Mapping[str, str], cwd: Path, seconds: float
) -> Run:
    """Run the file; its process group is killed after `seconds`."""
    started = time.monotonic()
    process = subprocess.Popen(
        [python, str(path), *argv],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(environment),
        cwd=cwd,
        start_new_session=True,
    )
    timed_out = False
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        timed_out = True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
    status = process.returncode
    return Run(
        mode="plain",
        exit=None if timed_out or status < 0 else status,
        signal=-status if status < 0 and not timed_out else None,
        timed_out=timed_out,
        seconds=time.monotonic() - started,
        stdout=out[-KEPT:].decode(errors="replace"),
        stderr=err[-KEPT:].decode(errors="replace"),
    )
