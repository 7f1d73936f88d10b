"""The body of a `with` or a `try` in its place.

Contexts set up and clean up, handlers answer for what goes wrong; a repro wants neither, and a handler may hide the
very fault. What `as` binds is still bound, by a plain assignment, where the body goes on using it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from shrinkray_gpu.reduction.edit import Edit, Template, Unwrap
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.edits import removal
from shrinkray_gpu.source.tree import depth, every, line_number, source, weight, within


def find(program: Program) -> Iterator[Edit]:
    for block in every(program, cst.With):
        yield from _with(program, block)
    attempts: list[cst.Try | cst.TryStar] = [*every(program, cst.Try), *every(program, cst.TryStar)]
    for attempt in attempts:
        yield from _try(program, attempt)


def _with(program: Program, block: cst.With) -> Iterator[Edit]:
    where = f"the with at line {line_number(program, block)}"
    level, gain = depth(program, block), weight(program, *block.items) + 1
    names = {item: item.asname.name for item in block.items if item.asname is not None}
    used = [item for item, name in names.items() if _is_used(program, name, block.body)]
    if not used:
        yield Edit(f"body of {where}", (Unwrap(block, keep=(block.body,)),), level, gain)
    if names:
        assigned: tuple[Template, ...] = tuple((name, " = ", item.item) for item, name in names.items())
        body = Unwrap(block, keep=(block.body,), before=assigned)
        gain -= weight(program, *(item.item for item in names))
        yield Edit(f"body of {where}, its values assigned", (body,), level, gain)
    for item in block.items:
        if len(block.items) > 1:
            yield removal(program, f"drop {source(program, item.item)} of {where}", item, level=level + 1)
        if item.asname is not None and item not in used:
            yield removal(program, f"drop the name in {where}", item.asname, level=level + 1)


def _is_used(program: Program, target: cst.BaseExpression, body: cst.BaseSuite) -> bool:
    names = {name.value for name in within(program, target, cst.Name)}
    return any(name.value in names for name in within(program, body, cst.Name))


def _try(program: Program, attempt: cst.Try | cst.TryStar) -> Iterator[Edit]:
    where = f"the try at line {line_number(program, attempt)}"
    level = depth(program, attempt)
    suites = [part.body for part in (attempt, attempt.orelse, attempt.finalbody) if part is not None]
    if len(suites) > 1:
        yield _suites_alone(program, f"body, else and finally of {where}", attempt, suites)
    yield _suites_alone(program, f"body of {where}", attempt, suites[:1])
    for handler in attempt.handlers:
        if handler.name is None and not _reraises(program, handler):
            yield _suites_alone(program, f"a handler of {where}", attempt, [handler.body])
        if len(attempt.handlers) > 1 or attempt.finalbody is not None:
            yield removal(program, f"drop a handler of {where}", handler, level=level + 1)
    if attempt.finalbody is not None:
        yield removal(program, f"drop the finally of {where}", attempt.finalbody, level=level + 1)


def _suites_alone(program: Program, what: str, attempt: cst.Try | cst.TryStar, suites: Sequence[cst.BaseSuite]) -> Edit:
    gain = weight(program, attempt) - weight(program, *suites)
    return Edit(what, (Unwrap(attempt, keep=tuple(suites)),), depth(program, attempt), gain)


def _reraises(program: Program, handler: cst.CSTNode) -> bool:
    """Whether it has a bare `raise`, which means nothing outside a handler."""
    return any(raised.exc is None for raised in within(program, handler, cst.Raise))
