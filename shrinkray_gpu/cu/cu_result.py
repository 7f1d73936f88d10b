"""The files that a reduction of a .cu leaves: the head of the program, ISSUE.md; and a result once more."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from shrinkray_gpu.cu.cu_fault import CuFault


def head_of(flags: Sequence[str], name: str, fault: CuFault) -> str:
    """How to build the program, and what shows then."""
    stem = name.removesuffix(".cu")
    words = shlex.join(["nvcc", *flags, name, "-o", stem])
    seen = f"// Seen: {fault.sight}\n" if fault.sight else ""
    return f"// {words}{f' && ./{stem}' if fault.ending else ''}\n// Fault: {fault}\n{seen}"


def issue(text: str, fault: CuFault, said: str, versions: Sequence[str], before: int, after: int) -> str:
    """ISSUE.md for NVIDIA: the error, the program, how to build it, what it says."""
    first = next((line for line in said.splitlines() if line.strip()), str(fault))
    command = text.splitlines()[0].removeprefix("// ")
    return "\n".join(
        [
            f"# {fault}",
            "",
            f"Reduced by shrink from {before} lines to {after}. Build{' and run' if fault.ending else ''} it so:",
            "",
            f"    {command}",
            "",
            "```cuda",
            text.rstrip("\n"),
            "```",
            "",
            "It says:",
            "",
            "```",
            said.strip()[:8192] or first,
            "```",
            "",
            *([f"{fault.witness} sees first:".capitalize(), "", f"    {fault.sight}", ""] if fault.sight else []),
            "Environment:",
            "",
            *(f"- {line}" for line in versions),
            "",
            "<!-- shrink submit: nvidia -->",
            "",
        ]
    )
