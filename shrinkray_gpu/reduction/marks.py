"""Marks: how an edit that failed is known again in a later round, though its program has changed elsewhere."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Sequence

import libcst as cst

from shrinkray_gpu.reduction.edit import Edit, Insert
from shrinkray_gpu.reduction.program import Program

_LINE = re.compile(r"\bline \d+")


def marks_of(program: Program, name: str, edits: Sequence[Edit]) -> dict[Edit, Hashable]:
    """What tells an edit and its surroundings again in a later round: its words, and the statements touched.

    The surroundings are the text of the line it is a part of, or else of the top-level statements touched; for an edit
    of a whole one of these, which others depend on, the whole program. Effects across them are missed, hence the last,
    thorough round.
    """
    text, spans = program.text, program.spans
    lines = sorted(spans[node] for node in program.layout.nodes(cst.SimpleStatementLine))
    line_starts = [start for start, _ in lines]
    tops = sorted(spans[statement] for statement in program.module.body if statement in spans)
    starts = [start for start, _ in tops]
    marks: dict[Edit, Hashable] = {}
    alike: Counter[Hashable] = Counter()
    for edit in edits:
        nodes = [change.before if isinstance(change, Insert) else change.node for change in edit.changes]
        places = [spans[node] for node in nodes if node in spans]
        low, high = (min(a for a, _ in places), max(b for _, b in places)) if places else (0, len(text))
        first, last = bisect_right(starts, low), bisect_right(starts, max(low, high - 1))
        begin = starts[first - 1] if first else 0
        finish = starts[last] if last < len(starts) else len(text)
        if any(low <= start and end <= high for start, end in tops[max(0, first - 1) : last]):
            begin, finish = 0, len(text)
        line, end = lines[max(0, bisect_right(line_starts, low) - 1)] if lines else (0, 0)
        if line <= low and high <= end and (line, end) != (low, high):
            begin, finish = line, end
        mark = (name, _LINE.sub("", edit.what), low - begin, high - begin, text[begin:finish])
        alike[mark] += 1  # alternatives may read the same: told apart by their order
        marks[edit] = (*mark, alike[mark])
    return marks
