"""What docs/tutorial.md quotes, against what its commands print. `python -m tests.tutorial` runs them all: 3 minutes.

A block of the kind `console` has commands after `$ `, each with its output. A line `...` stands for any lines, and
` ...` at the end of a line for the rest of it. Times, versions and counts of tries differ from run to run, and are not
compared.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "tutorial.md"
PROGRAM = ROOT / "corpus" / "tma_misaligned" / "failing.py"
REPRO = "repro_failing.py"
REST = " ..."

CHANGING = (
    (re.compile(r"\d+(?:\.\d+)? s\b"), "N s"),
    (re.compile(r"[Tt]riton \d+\.\d+\.\d+"), "triton V"),
    (re.compile(r"^  \d+ tries .*"), "  N tries"),
    (re.compile(r"^-{4}[- ]*$"), "----"),
    (re.compile(r" {2,}"), "  "),
)


@dataclass(frozen=True)
class Quoted:
    """A command of the page, and the lines that it prints according to the page."""

    command: str
    lines: tuple[str, ...]


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE.read_text(), re.M | re.S)


def commands() -> list[Quoted]:
    found = []
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, *lines = part.rstrip("\n").split("\n")
            found.append(Quoted(command, tuple(lines)))
    return found


def repro() -> str:
    """The program that the page shows."""
    (found,) = blocks("python")
    return found


def output(command: str, folder: Path) -> str:
    """What a command prints in a folder, where the environment of this Python is active, with this checkout's code."""
    active = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ours = {"PYTHONPATH": str(ROOT), "PATH": active, "NO_COLOR": "1", "COLUMNS": "120"}
    ended = subprocess.run(
        ["bash", "-c", command], cwd=folder, env={**os.environ, **ours}, text=True, stdout=-1, stderr=-2, timeout=900
    )
    return ended.stdout


def stable(line: str) -> str:
    for pattern, put in CHANGING:
        line = pattern.sub(put, line)
    return line.rstrip()


def unprinted(quoted: Quoted, printed: str) -> str | None:
    """The first line of the page that the command does not print where the page has it."""
    lines = [stable(line) for line in printed.splitlines()]
    at, skipped = 0, False
    for line in quoted.lines:
        if line == REST.strip():
            skipped = True
            continue
        fits = [number for number in range(at, len(lines)) if _fits(line, lines[number])]
        if not fits or (fits[0] != at and not skipped):
            return line
        at, skipped = fits[0] + 1, False
    return None


def _fits(line: str, printed: str) -> bool:
    if line.endswith(REST) and not printed.endswith(REST):
        return printed.startswith(stable(line.removesuffix(REST)))
    return stable(line) == printed


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / PROGRAM.name).write_bytes(PROGRAM.read_bytes())
        for quoted in commands():
            printed = output(quoted.command, folder)
            line = unprinted(quoted, printed)
            sys.stdout.write(f"{'as quoted' if line is None else 'DIFFERS'}: {quoted.command}\n")
            if line is not None:
                sys.stdout.write(
                    f"the page has this line, and the command does not print it there:\n{line}\n\n{printed}\n"
                )
                return 1
        made = (folder / REPRO).read_text()
        if not made.endswith(repro()):
            sys.stdout.write(f"DIFFERS: the page shows another {REPRO} than this:\n{made}\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
