"""What `shrink explain` says of a program with a planted fault: whose it is, against whose it truly is."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from . import packages, reducing, runs
from .cases import Planted
from .scoreboard import interval

ABOUT = (
    "Faults planted in released kernels, and whose `shrink explain` says they are. The operator that plants a fault "
    "says what is true. Rows in the order of runs; none is ever taken out. Written by benchmarks/seeded.py verdicts."
)
UNKNOWN, NONE = "not known", "no verdict"


@dataclass(frozen=True)
class VerdictRow:
    """What the results keep of one fault."""

    name: str
    operator: str
    true: str
    told: str
    """A word of the closed list, or why there is none."""
    named: bool
    """Whether place or sentence name the line that the fault changed."""
    mended: bool
    """Whether the change that is enough is on that line."""
    place: str
    line: str
    """The line that the fault changed."""
    why: str
    enough: str
    seconds: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def ask(planted: Planted, machine: runs.Machine, folder: Path, *, timeout: float) -> VerdictRow:
    """Run `shrink explain` in `folder`, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    program = folder / "program.py"
    program.write_text(planted.program.text)
    packages.overlay(folder / "overlay", planted.program.package, {planted.file: planted.text})
    asked = planted.asked.options
    command = [sys.executable, "-m", "shrinkray_gpu", "explain", *machine.options, "--json", *asked, str(program)]
    environment = reducing.environment_of(folder)
    started = time.monotonic()
    code, said, error = reducing.run_command(command, environment, folder, timeout)
    seconds = round(time.monotonic() - started, 1)
    shutil.rmtree(folder, ignore_errors=True)
    try:
        told = json.loads(said)["verdict"]
    except (ValueError, KeyError):
        words = (error or said).strip().splitlines()
        why = "no answer within the time limit" if code is None else words[-1] if words else f"exit {code}"
        return without_answer(planted, why, seconds)
    return replace(
        without_answer(planted, told["why"][: reducing.LONGEST], seconds),
        told=told["whose"],
        named=names_line(planted, f"{told['place']} {told['why']}"),
        mended=names_line(planted, told["enough"]),
        place=told["place"],
        enough=told["enough"][: reducing.LONGEST],
    )


def without_answer(planted: Planted, why: str, seconds: float) -> VerdictRow:
    """The row of a fault of which nothing was told."""
    whose = "host program" if not planted.operator.kernel else "kernel source"
    line = f"{os.path.basename(planted.file)}:{planted.edit.line}"
    return VerdictRow(planted.name, planted.operator.name, whose, NONE, False, False, "", line, why, "", seconds)


def names_line(planted: Planted, text: str) -> bool:
    """Whether a text names one of the lines over which the planted edit goes."""
    file = re.escape(os.path.basename(planted.file))
    lines = range(planted.edit.line, planted.edit.line + planted.edit.new.count("\n") + 1)
    return any(int(number) in lines for number in re.findall(rf"\b{file}:(\d+)", text))


def classes(faults: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Recall of each class with 95 % intervals, and how often a wrong class was told."""
    true = sorted({one["true"] for one in faults})
    right = {each: [one["told"] == each for one in faults if one["true"] == each] for each in true}
    wrong = [one for one in faults if one["told"] not in (one["true"], UNKNOWN, NONE)]
    told = [one for one in faults if one["told"] == one["true"]]
    return {
        "faults": len(faults),
        "recall": {each: interval(sum(found), len(found)) for each, found in right.items()},
        "wrong class": len(wrong),
        "not known or no verdict": len(faults) - len(told) - len(wrong),
        "seconds": round(sum(one["seconds"] for one in faults), 1),
    }


def figures(faults: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What `classes` tells, and how often the line that the fault changed is named."""
    named = {
        "names the line, of all": interval(sum(one["named"] for one in faults), len(faults)),
        "names or mends it, of all": interval(sum(one["named"] or one["mended"] for one in faults), len(faults)),
    }
    return classes(faults) | named


def confusion(faults: Sequence[Mapping[str, Any]]) -> str:
    """True against told as a table."""
    counts = Counter((one["true"], one["told"]) for one in faults)
    told = sorted({one["told"] for one in faults})
    rows = [["true", *told], ["---"] * (1 + len(told))]
    rows += [[true, *(str(counts[true, each]) for each in told)] for true in sorted({one["true"] for one in faults})]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def table(faults: Sequence[Mapping[str, Any]]) -> str:
    """True against told as a table, the figures, then what was not told rightly."""
    others = [one for one in faults if one["told"] != one["true"] or not (one["named"] or one["mended"])]
    parts = [
        confusion(faults),
        "\n".join(f"{name}: {value}" for name, value in figures(faults).items()),
        "\n".join(f"{one['told']}: {one['name']} ({one['line']}): {one['place']} {one['why']}" for one in others),
    ]
    return "\n\n".join(parts)
