"""Runs `shrink` as its user does, and reads what it says."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.cli.main import main
from shrinkray_gpu.events import printed_result
from shrinkray_gpu.passes import PASSES
from tests.forked.keepers import forking

SHRINK = [sys.executable, "-m", "shrinkray_gpu"]
PATIENCE = 300
COMMANDS = frozenset({"check", "explain", "replay", "corpus", "report", "ir", "submit", "sweep", "triage"})


@dataclass(frozen=True)
class Said:
    """What came out of one command."""

    code: int
    out: str
    err: str

    @property
    def message(self) -> str:
        """From the line that begins with `shrink: ` to the end."""
        head, mark, rest = ("\n" + self.err).partition("\nshrink: ")
        return (mark + rest).strip()

    @property
    def result(self) -> dict[str, Any]:
        """Of a reduction with --json."""
        return printed_result(self.out)


def well(said: Said) -> Said:
    """What came out of a command that must end well."""
    assert said.code == 0, said
    return said


def environment() -> dict[str, str]:
    """This process's, without what pytest and a GPU machine's user may have set."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "TRITON_"))}


def shrink(*words: str | Path, cwd: Path, report: bool = False, interpreters: bool = False) -> Said:
    """The command, from beginning to end; a reduction without its attachment, unless the test is about that. What it
    starts are forks of a process that has torch imported, see `tests.forked`; or new `interpreters`, as for a user."""
    command = [*(SHRINK if interpreters else forking()), *_without(words, report), *map(str, words)]
    done = subprocess.run(command, cwd=cwd, env=environment(), capture_output=True, text=True, timeout=PATIENCE)
    return Said(done.returncode, done.stdout, done.stderr)


def only(*passes: str) -> list[str]:
    """The words for a search with these passes alone, and once: who does not ask about the search spares its tries."""
    known = {each.name for each in PASSES}
    assert known >= set(passes), passes
    return [word for name in sorted(known - set(passes)) for word in ("--skip-pass", name)]


def refused(*words: str | Path, cwd: Path) -> Said:
    """The command in this process, which spares a start of the interpreter: where it should come to no more than a
    complaint about its arguments."""
    out, err, before, kept, given = io.StringIO(), io.StringIO(), Path.cwd(), dict(os.environ), environment()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(given)
    try:
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(kept)
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return Said(int(ended.value.code or 0), out.getvalue(), err.getvalue())


@contextmanager
def shrinking(*words: str | Path, cwd: Path) -> Iterator[subprocess.Popen[str]]:
    """The command at work; killed at the end if it still is. A shell that starts the tests in the background has Ctrl-C
    ignored, and what they start would inherit that."""
    process = subprocess.Popen(
        [*SHRINK, *_without(words, False), *map(str, words)],
        cwd=cwd,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=1,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _without(words: Sequence[str | Path], report: bool) -> list[str]:
    return [] if report or not words or words[0] in COMMANDS else ["--no-report"]


def step(process: subprocess.Popen[str], count: int) -> bool:
    """Read its `--verbose` lines until it has accepted so many steps. False if it came to its end before that."""
    assert process.stderr is not None
    for line in process.stderr:
        count -= "accepted: " in line
        if count == 0:
            return True
    return False


def plain(path: Path, *args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """`python FILE ARGS...`"""
    return subprocess.run(
        [sys.executable, str(path), *args], cwd=cwd, env=environment(), capture_output=True, text=True, timeout=60
    )
