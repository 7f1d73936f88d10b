"""Every statement, from the outside in.

The plainest step, and still the one that takes most away. Whole blocks come first (the body of a function, of a loop),
then what is in them: a block whose parts all have to go costs one try instead of one each.

What alone gives something its name, and is read, stays: without it comes a NameError (`definitions` takes it with its
uses). And an import that only a kernel reads goes unnoticed where Triton finds the kernel in its cache, whose key knows
nothing of modules.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.edits import removal
from shrinkray_gpu.source.scoping import bindings
from shrinkray_gpu.source.tree import ancestors, depth, every, holds, line_number, statement, statements


def find(program: Program) -> Iterator[Edit]:
    for suite in every(program, cst.BaseSuite):  # type: ignore[type-abstract]
        inside = [node for node in statements(suite) if not isinstance(node, cst.Pass)]
        if len(inside) > 1:
            what = f"empty the block of {len(inside)} statements at line {line_number(program, inside[0])}"
            yield removal(program, what, *inside, level=depth(program, suite))
    wanted = _only_bindings(program)
    for node in every(program, cst.BaseSmallStatement, cst.BaseCompoundStatement):  # type: ignore[type-abstract]
        if isinstance(program.parents.get(node), cst.If) or node in wanted:
            continue  # an elif is a clause of its chain
        if isinstance(node, cst.Pass) and _is_alone(program, node):
            continue
        name = getattr(getattr(node, "name", None), "value", "")
        what = f"remove {type(node).__name__.lower()} {name}".rstrip()
        yield removal(program, f"{what} at line {line_number(program, node)}", node, level=depth(program, node))


def _only_bindings(program: Program) -> set[cst.CSTNode]:
    """The statements that alone bind what others read: imports and assignments."""
    wanted: set[cst.CSTNode] = set()
    for binding in bindings(program):
        owner = statement(program, binding.places[0])
        if isinstance(owner, (cst.Assign, cst.AnnAssign, cst.Import, cst.ImportFrom)) and len(binding.places) == 1:
            if any(not holds(program, owner, read) for read in binding.reads):
                wanted.add(owner)
    return wanted


def _is_alone(program: Program, node: cst.CSTNode) -> bool:
    """Whether it is the only statement of its block."""
    suite = next((above for above in ancestors(program, node) if isinstance(above, cst.BaseSuite)), None)
    return suite is not None and len(statements(suite)) == 1
