"""What a run never came to: statements behind the one that fails, and arms that were not taken, in one step.

The shape is a long kernel that Triton's front end refuses half way down, and a long host program that stops at its
fault. All that lies behind was neither compiled nor run, and each part of it would cost a try of its own. In kernels
the arms that constants rule out are not compiled either. What a watched run saw (`observed`, `typed`) tells: a
statement of which no value was seen was not come to, or it is the one that fails. So the first is an edit of its own.
If it fails since it waits for the device, a plain wait does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import libcst as cst

from shrinkray_gpu.passes.host.observed import imports_torch
from shrinkray_gpu.passes.kernel.typed import watchable
from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.edits import removal, replacement
from shrinkray_gpu.source.kernels import in_kernel
from shrinkray_gpu.source.tree import ancestors, depth, every, function, line_number, source, statement, statements

WAIT = "torch.cuda.synchronize()"
"""In the place of a host's statement that shows the fault only since it waits for the device."""
_ARMS = (cst.If, cst.Else, cst.For, cst.While, cst.With, cst.Try, cst.ExceptHandler, cst.Finally)
"""What has a block that may be passed over while the function around it runs."""


def find(program: Program, values: Mapping[int, str]) -> Iterator[Edit]:
    nodes = watchable(program)
    seen = {nodes[number] for number in values if number < len(nodes)}
    own = _by_statement(program, nodes)
    around = {up for node in seen for up in ancestors(program, node)}
    gone: set[cst.CSTNode] = set()
    blocks: list[cst.Module | cst.BaseSuite] = [program.module, *every(program, cst.BaseSuite)]  # type: ignore[type-abstract]
    for suite in blocks:
        above = ancestors(program, suite)
        if (function(program, suite) or program.module) in around and gone.isdisjoint(above):
            inside = statements(suite)
            first = next((at for at, each in enumerate(inside) if each in own and seen.isdisjoint(own[each])), None)
            if first is None:
                continue
            whole = suite not in around and isinstance(program.parents.get(suite), _ARMS)
            missed = [each for each in inside[0 if whole else first + 1 :] if not isinstance(each, cst.Pass)]
            gone.update(missed)
            level = depth(program, suite)
            if missed:
                what = f"{len(missed)} statements that no run came to, from line {line_number(program, missed[0])}"
                yield removal(program, what, *missed, level=level)
            doubtful = inside[first]
            if not whole and not isinstance(doubtful, (cst.FunctionDef, cst.ClassDef)):
                what = f"the failing statement or the first behind it, at line {line_number(program, doubtful)}"
                yield removal(program, what, doubtful, level=level + 1)
                if source(program, doubtful) != WAIT and not in_kernel(program, doubtful) and imports_torch(program):
                    yield replacement(program, f"{WAIT} for {what}", doubtful, (WAIT,), level + 2)


def _by_statement(program: Program, nodes: Sequence[cst.CSTNode]) -> dict[cst.CSTNode, list[cst.CSTNode]]:
    """Of each statement the watched values that it alone is made of: of a block its head only."""
    found: dict[cst.CSTNode, list[cst.CSTNode]] = {}
    for node in nodes:
        if (owner := statement(program, node)) is not None:
            found.setdefault(owner, []).append(node)
    return found
