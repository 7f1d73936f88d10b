"""The second result of a fault in ptxas, which lies beside the repro: for ISSUE.md, and for the artifacts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_COMMAND = re.compile(r"^// (ptxas .*) FILE$", re.M)
_FAULT = re.compile(r"^// Fault: ", re.M)
_RELEASE = re.compile(r"^// ptxas ([\d.]+): (.*)$", re.M)


@dataclass(frozen=True)
class PtxBeside:
    """What such a file says."""

    name: str
    text: str

    @property
    def command(self) -> str:
        found = _COMMAND.search(self.text)
        return f"{found[1]} {self.name}" if found else ""

    @property
    def releases(self) -> list[tuple[str, str]]:
        """Release and what it makes of the file, oldest first."""
        return sorted(_RELEASE.findall(self.text), key=lambda each: [int(part) for part in each[0].split(".") if part])


def ptx_place(repro: Path) -> Path:
    """Where the same fault as PTX stands beside a repro in Python. No reduction of `NAME.ptx` writes `NAME.py.ptx`."""
    return repro.with_name(f"{repro.name}.ptx")


def ptx_beside(told: Mapping[str, Any]) -> PtxBeside | None:
    """Of the reduction that `told` is the result of; None where there is none."""
    path = ptx_place(Path(told["output"])) if told.get("output") else None
    if path is None or not path.is_file():
        return None
    text = path.read_text(encoding="utf-8", errors="replace")
    return PtxBeside(path.name, text) if _FAULT.search(text) else None
