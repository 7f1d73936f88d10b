"""Look-alikes: candidates that showed another fault than the one asked for, the smallest of each kind kept as a file.

Such a candidate is no success, but it may be a find: a second bug beside the one that is being reduced. Each file says
above its program what it shows and how little is known of it.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.reduction.comment_above import KEPT, one_line, put_above
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.size import lines
from shrinkray_gpu.runner.plain_file import replace_file

MOST = 20
"""Kinds that are kept, the first ones seen. A reduction that meets more has lost its way, or the text varies."""
MARK = f"{KEPT} this program shows another fault than the one that was asked for."
FILE = "{file}"
_AROUND = re.compile(r"^(?:an?|the)\s+|\s+(?:and\s+)?was\s.*|\s+triggered$", re.IGNORECASE)
"""What the driver says around the name of an error: `an illegal memory access was encountered`."""


@dataclass(frozen=True)
class OtherFaultsContext:
    """What is said of every find."""

    original: str
    """File name of the program that was being reduced."""
    asked: str
    """The SPEC that was asked for."""
    mode: str = ""
    """How the candidates were run, in words: `in forked children`."""
    command: str = f"python {FILE}"
    """How to run a find, with `{file}` where its name goes."""


class OtherFault(NamedTuple):
    """One kind of fault that was met, and the smallest program that showed it."""

    path: Path
    fault: Fault
    lines: int


class OtherFaults:
    """The finds of one reduction. For one thread; each call leaves the folder whole.

    The course decides the files: a resumed reduction meets the same programs in the same order, and ends in the same
    ones. `resumed` keeps what lies there until then; else the finds of an earlier reduction are cleared away.
    """

    def __init__(self, folder: Path, context: OtherFaultsContext, *, resumed: bool = False) -> None:
        self.folder, self.context = folder, context
        self._kept: dict[Hashable, tuple[Program, Fault, Path]] = {}
        if not resumed:
            _clear(folder)

    def consider(self, program: Program, fault: Fault) -> None:
        """Keep the program if it is the smallest that shows this kind of fault."""
        kind = _kind(fault)
        held = self._kept.get(kind)
        if held is None:
            if len(self._kept) == MOST:
                return
            path = self.folder / self._free_name(fault)
        elif (program.size, program.text) < (held[0].size, held[0].text):
            path = held[2]
        else:
            return
        self._write(path, add_label(program.text, fault, self.context, path.name))
        self._kept[kind] = (program, fault, path)

    @property
    def by_size(self) -> list[OtherFault]:
        """All finds, the smallest program first."""
        kept = sorted(self._kept.values(), key=lambda one: (one[0].size, one[2]))
        return [OtherFault(path, fault, lines(program.text)) for program, fault, path in kept]

    def _free_name(self, fault: Fault) -> str:
        taken = {path.name for _, _, path in self._kept.values()}
        name = file_name(fault)
        number = 1
        while f"{name}.py" in taken:
            number += 1
            name = f"{file_name(fault)}_{number}"
        return f"{name}.py"

    def _write(self, path: Path, text: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        replace_file(path, text.encode())


def _kind(fault: Fault) -> Hashable:
    """Not by the kernel, whose name a reduction changes, nor by what instruments saw in some runs only."""
    return (fault.phase, fault.klass, fault.code, fault.text)


def file_name(fault: Fault) -> str:
    """The fault in words, as a name without its ending: `illegal_memory_access`.

    At least two words: a file of one word may be named as a module is, and hide that from the program in it.
    """
    words = _AROUND.sub("", fault.klass)
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", words)
    name = re.sub(r"[^a-z0-9]+", "_", apart.lower()).strip("_")[:60].strip("_")
    return name if "_" in name else f"{fault.phase}_{name or 'fault'}"


def add_label(text: str, fault: Fault, context: OtherFaultsContext, name: str) -> str:
    """The program under a comment that says what it is. Above it stay the lines that mean something only there: `#!`,
    and a cookie in the first two (PEP 263)."""
    rows = [
        MARK,
        "# It was seen while candidates were tried, and nobody has verified it in a clean process yet.",
        "#",
        f"# shows      {one_line(str(fault))}",
        f"# asked for  {one_line(context.asked)}",
        f"# reducing   {one_line(context.original)}",
        *([f"# seen       {one_line(context.mode)}"] if context.mode else []),
        f"# run it     {one_line(context.command.replace(FILE, name))}",
        f"# reduce it  shrink {name}",
    ]
    return put_above(rows, text)


def _clear(folder: Path) -> None:
    """Remove what an earlier reduction left. What somebody else put there stays."""
    for path in folder.glob("*.py") if folder.is_dir() else ():
        with path.open(encoding="utf-8", errors="replace") as file:
            ours = any(line.startswith(KEPT) for _, line in zip(range(3), file))
        if ours:
            path.unlink()
