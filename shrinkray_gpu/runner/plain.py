"""Runs a program as its user would: `python FILE ARGS...`, a process of its own and nothing of ours in it.

Or under a tool that takes a command: a sanitizer, a shell that forbids core files.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from shrinkray_gpu.runner import children
from shrinkray_gpu.runner.guarded import MAIN, Guarded, KeeperKilled, MemoryCheck
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.output_pipes import ENOUGH, KEPT, TIMED_OUT, OutputPipes
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.runner.scratch_folder import scratch_folder

GUARD = "the guard of its process was {}"


def run_file(
    python: str,
    path: Path,
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    cwd: Path,
    seconds: float,
    prefix: Sequence[str] = (),
    kept: int | None = KEPT,
) -> Run:
    """Run the file, under the command `prefix` if any: see `run_words`."""
    words = [*prefix, python, str(path), *argv]
    return run_words(words, environment=environment, cwd=cwd, seconds=seconds, kept=kept)


def run_words(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    cwd: Path,
    seconds: float,
    kept: int | None = KEPT,
    enough: Callable[[str], bool] | None = None,
) -> Run:
    """Run a command. What it started ends with it, or after `seconds`, or as soon as `enough` says that its stdout has
    told all that is wanted: then it has no exit status.

    Of each stream the first and last `kept` bytes are told, None: all. Raises OSError where it cannot be started.
    """
    started, memory = time.monotonic(), MemoryCheck()
    with OutputPipes(sys.maxsize if kept is None else kept) as streams:
        out, err = streams.writers
        try:
            process = Guarded(command, environment=environment, cwd=cwd, out=out, err=err)
        except KeeperKilled as error:
            return Run(mode="plain", exit=None, trouble=str(error))
        with closing(process):
            streams.close_writers()
            told = streams.until_report(process.tie, started + seconds, enough)
            unseen = told is TIMED_OUT and process.is_stopped()
        streams.drain()
        said, complained = streams.texts()
    status = told["status"] if told else None
    short = "" if told is ENOUGH else memory.trouble(process.pid, status in (None, -signal.SIGKILL))
    return Run(
        mode="plain",
        exit=None if status is None or status < 0 else status,
        signal=-status if status is not None and status < 0 else None,
        timed_out=told is TIMED_OUT and not unseen,
        seconds=time.monotonic() - started,
        stdout=said,
        stderr=complained,
        children=children.faults(children.child_failure(complained), complained) if status == 1 else (),
        trouble=short or (GUARD.format("killed") if told is None else GUARD.format("stopped") if unseen else ""),
    )


def run_text(
    python: str,
    text: str,
    path: Path,
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    cwd: Path,
    scratch: Path,
    seconds: float,
    prefix: Sequence[str] = (),
    kept: int | None = KEPT,
) -> Run:
    """Run `text` as if it were the file at `path`: the file itself where that is its text, else a copy elsewhere that
    still finds the modules beside the original. Nothing is written beside the file, no bytecode either."""
    with scratch_folder(scratch) as folder:
        file = path
        given = {**environment, "PYTHONDONTWRITEBYTECODE": "1"}
        if not _is_text_of(path, text):
            file = Path(folder) / path.name
            file.write_text(text, encoding="utf-8")
            given["PYTHONPATH"] = os.pathsep.join(filter(None, [str(path.parent), environment.get("PYTHONPATH", "")]))
        return run_file(python, file, argv, environment=given, cwd=cwd, seconds=seconds, prefix=prefix, kept=kept)


def fence(python: str, setup: Setup, *writable: str) -> tuple[str, ...]:
    """A prefix under which a command runs in the fence of candidates, but may write below these folders, too."""
    allowed = replace(setup, writable=(*setup.writable, *writable)).message()
    return (python, "-B", str(MAIN), "--fenced", json.dumps(allowed))


def _is_text_of(path: Path, text: str) -> bool:
    try:
        return path.read_text(encoding="utf-8") == text
    except (OSError, UnicodeDecodeError):
        return False
