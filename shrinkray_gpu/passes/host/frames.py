"""The frames of the fault: which statement of which function led to it, as a watched run told by its traceback."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import libcst as cst

from shrinkray_gpu.reduction.interestingness import TRACEBACK
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.tree import every, function


@dataclass(frozen=True)
class FaultFrame:
    """A call that had not ended when the program failed."""

    function: cst.FunctionDef | None
    """None of the module itself."""
    statement: cst.CSTNode
    """The one that failed, or that called on: a small one, or a compound one whose head did it."""


def frames_of(program: Program, values: Mapping[int, str]) -> list[FaultFrame]:
    """Innermost first; none where the run did not end in an exception."""
    found: list[FaultFrame] = []
    for line in reversed(values.get(TRACEBACK, "").split()):
        at = _statement_at(program, int(line))
        if at is not None:
            found.append(FaultFrame(function(program, at), at))
    return found


def _statement_at(program: Program, line: int) -> cst.CSTNode | None:
    """The innermost statement that goes over this line."""
    starts = [0, *(at + 1 for at, letter in enumerate(program.text) if letter == "\n")]
    if not 0 < line < len(starts):
        return None
    begin, end = starts[line - 1], starts[line]
    found = None
    for node in every(program, cst.BaseSmallStatement, cst.BaseCompoundStatement):  # type: ignore[type-abstract]
        first, last = program.spans[node]
        if first < end and begin < last:
            found = node  # an inner one comes behind the one around it
    return found
