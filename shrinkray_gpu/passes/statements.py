"""Every statement, from the outside in.

The plainest step, and still the one that takes most away. Whole blocks come first (the body of a function, of a loop),
then what is in them: a block whose parts all have to go costs one try instead of one each.

An import that something reads stays: alone it would only cause a NameError, and not even that where it is a kernel that
reads it and Triton finds the kernel compiled in its cache, whose key knows nothing of modules (`definitions` takes an
import with its uses, `unreachable` one without).
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from shrinkray_gpu.passes.scoping import bindings
from shrinkray_gpu.passes.tree import ancestors, depth, every, line_number, statement, statements, weight
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
    wanted = _wanted_imports(program)
    for node in every(program, cst.BaseSmallStatement, cst.BaseCompoundStatement):  # type: ignore[type-abstract]
        if isinstance(program.parents.get(node), cst.If) or node in wanted:
            continue  # an elif is a clause of its chain
        if isinstance(node, cst.Pass) and _alone(program, node):
            continue
        yield Edit(
            what=f"remove {_what(node)} at line {line_number(program, node)}",
            changes=(Remove(node),),
            level=depth(program, node),
            weight=weight(program, node),
        )


def _wanted_imports(program: Program) -> set[cst.CSTNode]:
    return {
        statement(program, place)
        for binding in bindings(program)
        for place in binding.places
        if isinstance(place, cst.ImportAlias) and binding.reads
    }


def _alone(program: Program, node: cst.CSTNode) -> bool:
    """The only statement of its block."""
    suite = next((above for above in ancestors(program, node) if isinstance(above, cst.BaseSuite)), None)
    return suite is not None and len(statements(suite)) == 1


def _what(node: cst.CSTNode) -> str:
    name = getattr(getattr(node, "name", None), "value", "")
    return f"{type(node).__name__.lower()} {name}".rstrip()
