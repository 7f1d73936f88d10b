"""Every statement, from the outside in.

The plainest step, and still the one that takes most away. Whole blocks come first (the body of a function, of a loop),
then what is in them: a block whose parts all have to go costs one try instead of one each.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from shrinkray_gpu.passes.tree import ancestors, depth, every, line_number, statements, weight
from shrinkray_gpu.reduction.edit import Edit, Remove
from shrinkray_gpu.reduction.program import Program


def find(program: Program) -> Iterator[Edit]:
    for suite in every(program, cst.BaseSuite):  # type: ignore[type-abstract]
        inside = [node for node in statements(suite) if not isinstance(node, cst.Pass)]
        if len(inside) > 1:
            yield Edit(
                what=f"empty the block of {len(inside)} statements at line {line_number(program, inside[0])}",
                changes=tuple(Remove(node) for node in inside),
                level=depth(program, suite),
                weight=weight(program, suite),
            )
    for node in every(program, cst.BaseSmallStatement, cst.BaseCompoundStatement):  # type: ignore[type-abstract]
        if isinstance(program.parents.get(node), cst.If):
            continue  # an elif is a clause of its chain
        if isinstance(node, cst.Pass) and _alone(program, node):
            continue
        yield Edit(
            what=f"remove {_what(node)} at line {line_number(program, node)}",
            changes=(Remove(node),),
            level=depth(program, node),
            weight=weight(program, node),
        )


def _alone(program: Program, node: cst.CSTNode) -> bool:
    """The only statement of its block."""
    suite = next((above for above in ancestors(program, node) if isinstance(above, cst.BaseSuite)), None)
    return suite is not None and len(statements(suite)) == 1


def _what(node: cst.CSTNode) -> str:
    name = getattr(getattr(node, "name", None), "value", "")
    return f"{type(node).__name__.lower()} {name}".rstrip()
