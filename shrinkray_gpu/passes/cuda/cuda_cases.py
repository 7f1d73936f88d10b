"""CUDA: `switch` gives way to what is in one of its cases.

Before all else: the host chooses an instance of a kernel by its configuration so, and each costs a build as much as
all the rest. It is the same as one entry of the script's table for all.
"""

from __future__ import annotations

from collections.abc import Iterator

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import depth, sources, statements


def find(program: Program) -> Iterator[Edit]:
    for source in sources(program):
        for node in source.tree.nodes("switch_statement"):
            body = node.child("body")
            for case in body.members if body is not None else ():
                inside = tuple(each for each in statements(case) if each.kind != "break_statement")
                if inside:
                    what = f"resolve switch at line {source.line(node)}"
                    yield source.put(what, node, "{ ", inside, " }", level=depth(node))
