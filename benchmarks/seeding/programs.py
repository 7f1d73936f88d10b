"""Our calls of the packages' kernels: `calls/PACKAGE.py`, a head and parts, each part a program.

A part begins with `# %% NAME`. The program is the head, the part, and a wait for the device. No text of a package is in
there: only imports of it, inputs and calls.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

CALLS = Path(__file__).parent / "calls"
COMPARED = CALLS / "compared"
"""Those that hold what a kernel computes against what torch does."""
PART = re.compile(r"^# %% (\w+)\n", re.MULTILINE)
WAIT = "torch.cuda.synchronize()\n"


@dataclass(frozen=True)
class Program:
    """A script that calls a kernel of a package and ends well."""

    package: str
    name: str
    text: str

    @property
    def key(self) -> str:
        return f"{self.package}.{self.name}"


def programs(folder: Path = CALLS) -> list[Program]:
    """All programs, package by package."""
    found = [program for path in sorted(folder.glob("*.py")) for program in read(path.stem, path.read_text())]
    return found


def read(package: str, text: str) -> list[Program]:
    """The programs in the text of one file of calls."""
    head, *rest = PART.split(text)
    parts = dict(zip(rest[::2], rest[1::2]))
    if len(parts) * 2 != len(rest):
        raise ValueError(f"calls of {package}: a name occurs twice")
    return [Program(package, name, f"{head.rstrip()}\n\n{part.strip()}\n{WAIT}") for name, part in parts.items()]
