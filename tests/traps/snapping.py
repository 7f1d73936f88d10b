"""Reduces a trap as a user does, guarded or naively, and says whether the repro is another fault's.

Nothing here trusts the reducer: the repro's text and what `python REPRO` does in a clean folder decide.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from signal import Signals
from typing import Any

from shrinkray_gpu.events import printed_result
from tests.forked.keepers import forking
from tests.traps import naive
from tests.traps.repair import repaired
from tests.traps.trap import Trap

ROOT = Path(__file__).parents[2]
PATIENCE = 400
WITH_A_REPRO = (0, 4)
"""Exit codes: reduced, final check failed."""


@dataclass(frozen=True)
class Outcome:
    """What a reduction of a trap came to."""

    code: int
    said: str
    text: str
    slips: tuple[str, ...]
    """In what the repro is not the original's fault."""
    told: dict[str, Any] = field(default_factory=dict)
    """The result as the tool tells it."""

    def __str__(self) -> str:
        return "\n".join([f"exit {self.code}", *self.slips, self.text, self.said])


def guarded(trap: Trap, *words: str) -> Outcome:
    """With everything on."""
    with tempfile.TemporaryDirectory(prefix="trap-") as place:
        folder = _prepared(trap, Path(place))
        return _outcome(trap, folder, [*trap.words, *words])


def unguarded(trap: Trap, *words: str) -> Outcome:
    """By the trap's naive test, and no further than to a slip: what comes after it is of no interest."""
    with tempfile.TemporaryDirectory(prefix="trap-", ignore_cleanup_errors=True) as place:
        folder = _prepared(trap, Path(place))
        program = folder / trap.path.name
        with naive.options(trap, folder) as chosen:
            command = [*forking(), program.name, *chosen, *words, "--verbose", "--final-runs", "1", "--no-report"]
            with _started(command, program) as process:
                slipped, said = _until_it_slips(process, trap, folder / f"{program.stem}.shrink" / "best.py")
        return slipped or _judged(trap, program, process.returncode, said)


def slips(trap: Trap, repro: Path) -> list[str]:
    """In what this repro is not the trap's true fault, by its text and by a run of its own."""
    text = repro.read_text()
    found = _textual(trap, text)
    if trap.ends:
        status, _, regex = trap.ends.partition(" ")
        ended, stderr = _plain(repro, f"{text}\n{trap.then}\n")
        if ended != status or not re.search(regex, stderr):
            found.append(f"ends by {ended}, not {trap.ends!r}: {stderr[-400:]}")
    if trap.check:
        done = _command([*forking(), str(repro), *trap.arch, "--check", "--no-guards", "--oracle", trap.check], repro)
        if done.returncode:
            found.append(f"{trap.check!r} does not hold: {done.stderr[-400:]}")
    if trap.cures:
        said = [_plain(repro, mended)[1] for mended in repaired(trap, text)]
        if all(re.search(trap.ends.partition(" ")[2], stderr) for stderr in said):
            found.append(f"is not cured ({len(said)} places): {''.join(said)[-400:]}")
    return found


def _textual(trap: Trap, text: str) -> list[str]:
    found = [f"lacks {regex!r}" for regex in trap.must if not re.search(regex, text, re.MULTILINE)]
    return found + [f"has {regex!r}" for regex in trap.must_not if re.search(regex, text, re.MULTILINE)]


def _until_it_slips(process: subprocess.Popen[str], trap: Trap, best: Path) -> tuple[Outcome | None, str]:
    """Lets the reduction go on until its best program has visibly slipped, or it is done.

    Returns that slip, if any, and what the command said. After a slip the command is killed: nobody needs its final
    check, nor a run of the repro.
    """
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        # The file is written beside the search: it may be a step behind.
        if "accepted: " in line and best.exists():
            text = best.read_text()
            if found := _textual(trap, text):
                process.kill()
                process.communicate(timeout=PATIENCE)
                return Outcome(process.returncode, "".join(said)[-2000:], text, tuple(found)), ""
    return None, "".join([*said, process.communicate(timeout=PATIENCE)[1]])


def _prepared(trap: Trap, place: Path) -> Path:
    """A folder with the program and, for a control, its fix; the temporary files of the reduction go there, too."""
    (place / "tmp").mkdir()
    (place / trap.path.name).write_text(trap.program)
    fix = trap.path.with_suffix(".diff")
    if fix.exists():
        (place / fix.name).write_text(fix.read_text())
    return place


def _outcome(trap: Trap, folder: Path, words: Sequence[str]) -> Outcome:
    program = folder / trap.path.name
    with _started([*forking(), program.name, *words, "--json", "--final-runs", "1", "--no-report"], program) as process:
        out, said = process.communicate(timeout=PATIENCE)
    return _judged(trap, program, process.returncode, said, out)


def _judged(trap: Trap, program: Path, code: int, said: str, out: str = "") -> Outcome:
    repro = program.with_name(f"repro_{program.name}")
    if code not in WITH_A_REPRO or not repro.exists():
        raise AssertionError(f"no repro of {program.name}, exit {code}: {said[-2000:]}")
    told = printed_result(out)
    best = program.with_suffix(".shrink") / "best.py"
    if code == 4 and best.exists():
        said += f"\nthe smaller one:\n{best.read_text()}"
    return Outcome(code, said[-2000:], repro.read_text(), tuple(slips(trap, repro)), told)


def _plain(repro: Path, text: str | None = None) -> tuple[str, str]:
    """How `python REPRO` ends in a clean folder: status or signal, and standard error."""
    with tempfile.TemporaryDirectory(prefix="trap-probe-") as place:
        path = Path(place, repro.name)
        path.write_text(repro.read_text() if text is None else text)
        done = _command([sys.executable, path.name], path)
    status = Signals(-done.returncode).name if done.returncode < 0 else str(done.returncode)
    return status, done.stderr


def _command(words: Sequence[str], beside: Path) -> subprocess.CompletedProcess[str]:
    """To its end, in the folder of this file."""
    with _started(words, beside) as process:
        out, said = process.communicate(timeout=PATIENCE)
    return subprocess.CompletedProcess(words, process.returncode, out, said)


@contextmanager
def _started(words: Sequence[str], beside: Path) -> Iterator[subprocess.Popen[str]]:
    """The command at work in the folder of this file, with temporary files there; killed at the end if it still is."""
    temporary = beside.parent / "tmp"
    temporary.mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "TRITON_"))}
    paths = os.pathsep.join(filter(None, (str(ROOT), kept.get("PYTHONPATH", ""))))
    caches = str(temporary / "triton")
    environment = {**kept, "PYTHONPATH": paths, "TMPDIR": str(temporary), "TRITON_CACHE_DIR": caches}
    with subprocess.Popen(
        words, cwd=beside.parent, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()
