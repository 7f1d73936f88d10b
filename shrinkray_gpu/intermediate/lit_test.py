"""The result as a file: a test for `lit`, with its `RUN:` line, and what it takes to see the fault on a wheel."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from shrinkray_gpu.intermediate.ir_fault import IrFault
from shrinkray_gpu.intermediate.pass_table import PassCall

_SEEN = re.compile(r"^// Seen with Triton (\S+?)(?: for (\w+))? by ", re.M)
_FAULT = re.compile(r"^// Fault: (.*)$", re.M)
_BODY = re.compile(r"^( *)tt\.func (?:public )?@([\w.$-]+)\(.*\{$", re.M)
"""Where the body of a function begins that another module may call, so that no pass takes it away."""
OPT = "triton-opt"


def written(text: str, calls: Sequence[PassCall], fault: IrFault, *, arch: str, release: str) -> str:
    """The file, as it may stand among the tests of a build of Triton. No wheel has their tools, so it is marked as not
    run. What a mended pass makes of a function nobody knows yet: FileCheck asks only that each is there."""
    flags = " ".join(call.flag() for call in calls)
    checked = _BODY.sub(r"\1// CHECK-LABEL: @\2(\n\g<0>", text.strip())
    lines = [
        f"// RUN: {OPT} %s {flags}" + " | FileCheck %s" * (checked != text.strip()),
        f"// Fault: {fault}",
        f"// Seen with Triton {release}{f' for {arch}' if arch else ''} by its Python binding; {_not_run()}."
        " On a wheel: shrink replay FILE",
    ]
    return "\n".join(lines) + "\n" + checked + "\n"


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


def seen_with(whole: str) -> tuple[str, str]:
    """The release of Triton and the architecture that a result names; empty where it names none."""
    found = _SEEN.search(whole)
    return (found[1], found[2] or "") if found else ("", "")


def fault_of(whole: str) -> str:
    """What a result says of its fault; empty where a file says nothing."""
    found = _FAULT.search(whole)
    return found[1].strip() if found else ""
