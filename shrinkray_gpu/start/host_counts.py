"""Counts that the host computes and that make a check of values fail: how often a loop goes round, how large a grid is.

A number in the place of such a count changes no value, so nothing that is compared tells that the mistake is gone. So
the program is asked with one more, one less, or twice as many. Where its check passes then, what makes the count is
marked, and stays.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from shrinkray_gpu.start.argument_slice import SIMPLE, launches_of, marked, slice_of
from shrinkray_gpu.start.host_code import HostCode
from shrinkray_gpu.start.refused_slice import is_computed
from shrinkray_gpu.start.slicing import Slice, Slicer
from shrinkray_gpu.start.statements import names

MOST = 12
"""Loops that are asked about, each by two runs of the program; any more stay as they are, since nobody knows."""
_LOOP = (("(", ") + 1"), ("(", ") - 1"))
_GRID = tuple(
    (f"(lambda grid: lambda meta: tuple({more} for size in (grid(meta) if callable(grid) else grid)))((", "))")
    for more in ("size + 1", "2 * size")
)
"""A grid of another size, whatever the launch has for one."""


class _Count(NamedTuple):
    """The end of a loop, or the grids of a kernel's launches."""

    places: tuple[ast.expr, ...]
    loop: ast.For | None = None
    kernel: str = ""


def with_counts_kept(text: str, passing: Callable[[Sequence[str]], Sequence[bool]]) -> str:
    """The program's text, with marks at what the counts hang on with another number of which it passes; empty where
    there are none. `passing`: which of several texts pass. A run takes seconds, so they are asked of together."""
    tree = ast.parse(text)
    loops, grids = list(_loops(tree)), list(_grids(tree))

    def deciding(groups: Sequence[Sequence[_Count]]) -> list[_Count]:
        """All counts of those groups with other numbers of which it passes."""
        asked = [
            (group, _around(text, places, *other))
            for group in groups
            if (places := list(dict.fromkeys(place for count in group for place in count.places)))
            for other in (_LOOP if group[0].loop is not None else _GRID)
        ]
        said = passing([other for _, other in asked])
        passed = [group for (group, _), passes in zip(asked, said) if passes]
        return [each for group in groups if group in passed for each in group]

    found = deciding([*([each] for each in loops[:MOST]), *([grids] if grids else [])])
    among = [each for each in found if each.loop is None]
    if len(among) > 1:
        found = [each for each in found if each.loop is not None] + deciding([[each] for each in among])
    found += loops[MOST:]
    slices = [_slice(tree, each) for each in found]
    statements = [node for each in slices for node in each.statements]
    heads = [node for each in slices for node in each.heads]
    parts = {node: values for each in slices for node, values in each.parts.items()}
    return marked(text, Slice(statements, heads, {}, [], parts=parts)) if found else ""


def _loops(tree: ast.Module) -> Iterator[_Count]:
    """Those of the host over a range whose end is computed."""
    for loop in HostCode(tree).scope:
        if not isinstance(loop, ast.For):
            continue
        call = loop.iter
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range":
            ends = call.args[:2][-1:]
            if any(any(names(end)) for end in ends):
                yield _Count(tuple(ends), loop=loop)


def _grids(tree: ast.Module) -> Iterator[_Count]:
    code = HostCode(tree)
    statements = [each for each in code.scope if isinstance(each, SIMPLE)]
    for kernel in code.kernels:
        calls = [call for each in statements for call in launches_of(each, kernel, code)]
        grids = tuple(call.func.slice for call in calls if isinstance(call.func, ast.Subscript))
        if any(any(names(each)) for each in grids):
            yield _Count(grids, kernel=kernel)


def _slice(tree: ast.Module, count: _Count) -> Slice:
    """What computes the count. What only passes a number on may go, and so may all cases but the one that fails."""
    loop = count.loop
    if loop is None:
        found = slice_of(tree, count.kernel, (), grid=True, launched=False, first=True)
    else:
        found = Slicer(HostCode(tree, launched=False)).behind([loop], count.places, first=True)
    statements = [each for each in found.statements if each not in found.calls and is_computed(each)]
    heads = [each for each in found.heads if not isinstance(each, ast.For) or is_computed(each.iter)]
    return found._replace(statements=statements, heads=heads if loop is None else [*heads, loop])


def _around(text: str, places: Sequence[ast.expr], before: str, after: str) -> str:
    """The text with something around each of these expressions, none of which is inside another."""
    lines = [line.encode() for line in text.split("\n")]
    for place in sorted(places, key=lambda each: (each.lineno, each.col_offset), reverse=True):
        last = (place.end_lineno or place.lineno) - 1
        for line, at, more in ((last, place.end_col_offset or 0, after), (place.lineno - 1, place.col_offset, before)):
            lines[line] = lines[line][:at] + more.encode() + lines[line][at:]
    return b"\n".join(lines).decode()
