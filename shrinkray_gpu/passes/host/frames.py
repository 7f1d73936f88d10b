"""The frames of the fault: which functions led to it, as a watched run told by its traceback."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from shrinkray_gpu.reduction.interestingness import TRACEBACK
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.tree import every, function


def frames_of(program: Program, values: Mapping[int, str]) -> list[cst.FunctionDef | None]:
    """Functions whose calls had not ended when the program failed, innermost first; None of the module itself. Empty
    where the run did not end in an exception."""
    statements = (_statement_at(program, int(line)) for line in reversed(values.get(TRACEBACK, "").split()))
    return [function(program, each) for each in statements if each is not None]


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
