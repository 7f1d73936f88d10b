"""The result as a file: a test for `lit`, with its `RUN:` line, and what it takes to see the fault on a wheel."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from shrinkray_gpu.intermediate.ir_fault import IrFault
from shrinkray_gpu.intermediate.pass_table import PassCall

_FAULT = re.compile(r"^// Fault: (.*)$", re.M)
OPT = "triton-opt"


def written(text: str, calls: Sequence[PassCall], fault: IrFault, *, arch: str, release: str) -> str:
    """The file. Its `RUN:` line is what a build of Triton runs; no wheel has that tool, so it is marked as not run."""
    flags = " ".join(call.flag() for call in calls)
    lines = [
        f"// RUN: {OPT} %s {flags}",
        f"// Fault: {fault}",
        f"// Seen with Triton {release}{f' for {arch}' if arch else ''} by its Python binding; {_not_run()}."
        " On a wheel: shrink replay FILE",
    ]
    return "\n".join(lines) + "\n" + text.strip() + "\n"


def _not_run() -> str:
    return f"not run with {OPT}" + ("" if shutil.which(OPT) else ", which no wheel has")


def beside(repro: Path) -> Path:
    """Where the same fault as IR stands beside a repro in Python. No reduction of `NAME.ttir` writes `NAME.py.mlir`."""
    return repro.with_name(f"{repro.name}.mlir")


def read_beside(repro: Path) -> Mapping[str, str]:
    """That file's text by its name; nothing where there is none, or one that is not ours."""
    try:
        text = beside(repro).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    return {beside(repro).name: text} if fault_of(text) else {}


def fault_of(whole: str) -> str:
    """What a result says of its fault; empty where a file says nothing."""
    found = _FAULT.search(whole)
    return found[1].strip() if found else ""
