"""How a reducer without guards tests a candidate: what each trap is seen to snap under.

output WORDS   the output of `python CANDIDATE` has these words (Torch's minifier, most shell scripts)
exit N         it ends with this status (C-Reduce's usual test); `signal NAME` for a signal
worker WORDS   as `output`, in one process for all candidates (what a fast worker does if nobody takes care)
oracle SPEC    this oracle, which looks at the code and not at what runs
no guards      the trap's own oracle with --no-guards: whatever fits it will do
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from signal import Signals

from tests.traps.trap import Trap

WORKER = Path(__file__).with_name("reused_worker.py")


@contextmanager
def options(trap: Trap, folder: Path) -> Iterator[list[str]]:
    """The command's words for the naive reduction of this trap, good as long as the context lasts."""
    kind, _, rest = trap.naive.partition(" ")
    python = shlex.quote(sys.executable)
    if kind == "no":
        yield [*_without_controls(trap.words), "--no-guards"]
    elif kind == "oracle":
        yield [*trap.arch, "--no-guards", "--oracle", rest]
    elif kind == "output":
        yield [*_skipping(trap), *_script(folder, f'{python} "$1" 2>&1 | grep -qF -e {shlex.quote(rest)}')]
    elif kind == "exit":
        yield _script(folder, f'{python} "$1"; test $? -eq {int(rest)}')
    elif kind == "signal":
        yield _script(folder, f'{python} "$1"; test $? -eq {128 + Signals[rest]}')
    elif kind == "worker":
        address = folder / "worker.socket"
        worker = subprocess.Popen([sys.executable, WORKER, address], stdout=subprocess.PIPE, text=True)
        try:
            assert worker.stdout is not None and worker.stdout.readline() == "ready\n"
            ask = f'{python} {shlex.quote(str(WORKER))} {shlex.quote(str(address))} "$1"'
            yield _script(folder, f"{ask} | grep -qF -e {shlex.quote(rest)}")
        finally:
            worker.kill()
            worker.communicate()
    else:
        raise ValueError(f"{trap.path.name}: no naive test is called {kind!r}")


def _without_controls(words: Sequence[str]) -> list[str]:
    """Controls are guards."""
    return [word for word, before in zip(words, ("", *words)) if "--control-patch" not in (word, before)]


def _skipping(trap: Trap) -> list[str]:
    return [word for name in sorted(trap.skipped) for word in ("--skip-pass", name)]


def _script(folder: Path, line: str) -> list[str]:
    path = folder / "naive.sh"
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)
    return ["--no-guards", "--oracle", "script:./naive.sh"]
