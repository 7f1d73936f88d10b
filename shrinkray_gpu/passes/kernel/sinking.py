"""What follows a loop into the loop, so that nothing has to be carried out of it.

    acc = tl.zeros([16, 16], tl.float32)
    for step in range(2):                              for step in range(2):
        acc = tl.dot(a, b)                                 tl.store(out, tl.dot(a, b))
    tl.store(out, acc)

The variable is only there to bring the value out; with it go its first value and two lines. Statements between the loop
and the use come before the loop, as far as they stand by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from shrinkray_gpu.reduction.edit import Edit, Insert, Remove, Replace, Template
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.scoping import Binding, bindings
from shrinkray_gpu.source.tree import every, holds, line_number, source, statement, weight

BETWEEN = 4
"""Statements between the loop and the use, at most."""


def find(program: Program) -> Iterator[Edit]:
    known = bindings(program)
    for loop in every(program, cst.For):
        suite = program.parents[loop]
        if not isinstance(suite, (cst.IndentedBlock, cst.Module)) or loop.orelse is not None:
            continue
        after = list(suite.body[list(suite.body).index(loop) + 1 :])
        for binding in known:
            edit = _sunk(program, loop, binding, after)
            if edit is not None:
                yield edit


def _sunk(program: Program, loop: cst.For, binding: Binding, after: Sequence[cst.BaseStatement]) -> Edit | None:
    """The edit for one variable: a first value before the loop, one assignment in it, one read after it."""
    if len(binding.places) != 2 or binding.declared:
        return None
    first, inner = (statement(program, place) for place in binding.places)
    if not isinstance(inner, (cst.Assign, cst.AugAssign)) or not isinstance(first, cst.Assign):
        return None
    if not holds(program, loop.body, inner) or holds(program, loop, first) or len(first.targets) != 1:
        return None
    if isinstance(inner, cst.Assign) and len(inner.targets) != 1:
        return None
    written = inner.target if isinstance(inner, cst.AugAssign) else inner.targets[0].target
    reads = [read for read in binding.reads if read is not written]
    if written not in binding.places or first.targets[0].target not in binding.places or len(reads) != 1:
        return None
    (read,) = reads
    use = next((at for at, line in enumerate(after[: BETWEEN + 1]) if holds(program, line, read)), None)
    if use is None or not all(map(_simple, after[: use + 1])):
        return None
    place, between = after[use], after[:use]
    if isinstance(statement(program, read), cst.AugAssign):
        return None
    by = _with(program, statement(program, read), read, inner.value)
    lines = tuple((source(program, line.body[0]),) for line in between if isinstance(line, cst.SimpleStatementLine))
    moved = [Remove(line.body[0]) for line in between if isinstance(line, cst.SimpleStatementLine)]
    put = [Insert(loop, lines)] if lines else []
    assert isinstance(place, cst.SimpleStatementLine)
    return Edit(
        f"sink the use of {binding.name} into the loop at line {line_number(program, loop)}",
        (Remove(first), *put, *moved, Remove(place.body[0]), Replace(inner, by)),
        weight=weight(program, first) + 3,
    )


def _simple(line: cst.BaseStatement) -> bool:
    return (
        isinstance(line, cst.SimpleStatementLine)
        and len(line.body) == 1
        and isinstance(line.body[0], (cst.Assign, cst.Expr))
    )


def _with(program: Program, use: cst.CSTNode, read: cst.Name, value: cst.BaseExpression) -> Template:
    """The statement with the value in the place of the read."""
    (start, end), (begin, finish) = program.spans[use], program.spans[read]
    return (program.text[start:begin], value, program.text[finish:end])
