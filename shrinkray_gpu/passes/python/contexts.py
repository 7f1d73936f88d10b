"""The body of a `with` or a `try` in its place.

Contexts set up and clean up, handlers answer for what goes wrong; a repro wants neither, and a handler may hide the
very fault. What `as` binds is still bound, by a plain assignment, where the body goes on using it.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from shrinkray_gpu.reduction.edit import Edit, Remove, Template, Unwrap
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.tree import depth, every, line_number, source, weight, within


def find(program: Program) -> Iterator[Edit]:
    for block in every(program, cst.With):
        yield from _with(program, block)
    for attempt in every(program, cst.Try):
        yield from _try(program, attempt)
    for group in every(program, cst.TryStar):
        yield from _try(program, group)


def _with(program: Program, block: cst.With) -> Iterator[Edit]:
    where = f"the with at line {line_number(program, block)}"
    level, gain = depth(program, block), weight(program, *block.items) + 1
    assigned = tuple(_assignment(item) for item in block.items if item.asname is not None)
    used = [item for item in block.items if item.asname is not None and _used(program, item.asname.name, block.body)]
    if not used:
        yield Edit(f"body of {where}", (Unwrap(block, keep=(block.body,)),), level, gain)
    if assigned:
        yield Edit(
            f"body of {where}, its values assigned",
            (Unwrap(block, keep=(block.body,), before=assigned),),
            level,
            gain - weight(program, *(item.item for item in block.items if item.asname is not None)),
        )
    for item in block.items:
        if len(block.items) > 1:
            what = f"drop {source(program, item.item)} of {where}"
            yield Edit(what, (Remove(item),), level + 1, weight(program, item))
        if item.asname is not None and item not in used:
            yield Edit(f"drop the name in {where}", (Remove(item.asname),), level + 1, 2)


def _assignment(item: cst.WithItem) -> Template:
    assert item.asname is not None
    return (item.asname.name, " = ", item.item)


def _used(program: Program, target: cst.BaseExpression, body: cst.BaseSuite) -> bool:
    names = {name.value for name in within(program, target, cst.Name)}
    return any(name.value in names for name in within(program, body, cst.Name))


def _try(program: Program, attempt: cst.Try | cst.TryStar) -> Iterator[Edit]:
    where = f"the try at line {line_number(program, attempt)}"
    level, everything = depth(program, attempt), weight(program, attempt)
    suites: list[cst.BaseSuite] = [attempt.body]
    if attempt.orelse is not None:
        suites.append(attempt.orelse.body)
    if attempt.finalbody is not None:
        suites.append(attempt.finalbody.body)
    if len(suites) > 1:
        yield _kept(program, f"body, else and finally of {where}", attempt, suites, everything, level)
    yield _kept(program, f"body of {where}", attempt, suites[:1], everything, level)
    for handler in attempt.handlers:
        if handler.name is None and not _reraises(handler):
            yield _kept(program, f"a handler of {where}", attempt, [handler.body], everything, level)
        if len(attempt.handlers) > 1 or attempt.finalbody is not None:
            yield Edit(f"drop a handler of {where}", (Remove(handler),), level + 1, weight(program, handler))
    if attempt.finalbody is not None:
        final = attempt.finalbody
        yield Edit(f"drop the finally of {where}", (Remove(final),), level + 1, weight(program, final))


def _kept(
    program: Program, what: str, attempt: cst.CSTNode, suites: list[cst.BaseSuite], everything: int, level: int
) -> Edit:
    return Edit(what, (Unwrap(attempt, keep=tuple(suites)),), level, everything - weight(program, *suites))


def _reraises(handler: cst.CSTNode) -> bool:
    """A bare `raise` means nothing outside a handler."""
    stack = [handler]
    while stack:
        node = stack.pop()
        if isinstance(node, cst.Raise) and node.exc is None:
            return True
        stack.extend(node.children)
    return False
