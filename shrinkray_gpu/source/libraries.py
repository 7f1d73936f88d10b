"""What a program imports from elsewhere, and whether that may use a GPU."""

from __future__ import annotations

import re
import sys

import libcst as cst

from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.tree import dotted_text, every, once

_HOST = frozenset({"numpy"})
_DOORS = frozenset(
    {"ctypes", "importlib", "multiprocessing", "pkgutil", "runpy", "subprocess"}
    | {"cProfile", "doctest", "profile", "trace", "unittest"}
)
"""Of the standard library, what leads to code that the program does not show."""


@once
def is_plain(program: Program) -> bool:
    """Whether the program is host Python alone: nothing that it imports can launch or compile a kernel."""
    return not program.literals and all(
        root in _HOST or root in sys.stdlib_module_names and root not in _DOORS for root in _roots(program)
    )


def names_libraries(program: Program) -> bool:
    """Whether its text names torch or Triton, or what may import them unseen."""
    return re.search(r"torch|triton|__import__|\bexec\b|\beval\b", program.text) is not None


def _roots(program: Program) -> set[str]:
    found: set[str] = set()
    for node in every(program, cst.Import, cst.ImportFrom):
        if isinstance(node, cst.ImportFrom):
            found.add("" if node.relative else dotted_text(node.module).partition(".")[0])
        elif isinstance(node, cst.Import):
            found.update(dotted_text(alias.name).partition(".")[0] for alias in node.names)
    return found
