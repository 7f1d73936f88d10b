"""render: a Program and a subset of a pass's Edits in, the changed Program out. It parses, whatever the subset.

The changes are written by `writer.py`; here is decided which edits of the subset can stand beside each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shrinkray_gpu.reduction.edit import Change, Edit, Replace, Unwrap, Within
from shrinkray_gpu.reduction.native.native_change import Put
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.writer import StatementWriter


def render(program: Program, edits: Sequence[Edit]) -> Program:
    """The Program with these edits made; those that conflict with an earlier one are left out (see `effective`)."""
    return program.with_text(_settle(program, edits)[1])


def effective(program: Program, edits: Sequence[Edit]) -> list[Edit]:
    """The edits that `render` makes. An edit is dropped whole if it wants something else in a place that an earlier one
    has changed, or if its text cannot stand where it is put (a literal where something is assigned to, a quote within
    an f-string). What lies inside a removed or replaced node is no conflict: there the outer change simply wins."""
    return _settle(program, edits)[0]


def _settle(program: Program, edits: Sequence[Edit]) -> tuple[list[Edit], str]:
    left = _agreeing(edits)
    if not left:
        return [], program.text
    while True:
        writer = StatementWriter(program.layout, _owned(left))
        text = writer.write(program.module)
        if not writer.misfits:
            return left, text
        left = [edit for number, edit in enumerate(left) if number not in writer.misfits]


def _owned(edits: Iterable[Edit]) -> Iterable[tuple[int, Change]]:
    return ((number, change) for number, edit in enumerate(edits) for change in edit.changes)


def _agreeing(edits: Iterable[Edit]) -> list[Edit]:
    """Two changes may not put different things in the place of one node; the same thing twice is fine."""
    taken: dict[object, tuple[object, ...]] = {}
    left: list[Edit] = []
    for edit in edits:
        wants = [want for change in edit.changes if (want := _want(change)) is not None]
        if edit.rivals is not None:
            wants.append((("rivals", edit.rivals), (edit,)))
        if all(taken.get(node, content) == content for node, content in wants):
            taken.update(wants)
            left.append(edit)
    return left


def _want(change: Change) -> tuple[object, tuple[object, ...]] | None:
    """The node that a change puts something else in the place of, and what that is."""
    match change:
        case Replace(node, by):
            return node, (by,)
        case Unwrap(node, keep, before):
            return node, (keep, before)
        case Within(change=Put(native, parts)):
            return native, (parts,)
    return None
