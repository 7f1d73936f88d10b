"""The two edits that most passes offer: nodes that go, and one node that gives way to something smaller."""

from __future__ import annotations

import libcst as cst

from shrinkray_gpu.reduction.edit import Edit, Remove, Replace, Template
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.tree import weight


def removal(program: Program, what: str, *nodes: cst.CSTNode, level: int = 0) -> Edit:
    """Drops these nodes, all of them together."""
    return Edit(what, tuple(map(Remove, nodes)), level, weight(program, *nodes))


def replacement(program: Program, what: str, node: cst.CSTNode, by: Template, level: int = 0) -> Edit:
    """Puts this in the place of a node. It takes away what the node weighs more than the nodes that it keeps."""
    kept = weight(program, *(part for part in by if not isinstance(part, str)))
    return Edit(what, (Replace(node, by),), level, max(1, weight(program, node) - kept))
