"""CUDA: what only checks and tells, all of it at once: assertions, checks of the host code, prints, timing.

A check of the last error goes like the others: the driver is asked for that, not the program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.native.native_tree import Node
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import Source, depth, enclosing, sources

_CHECK = re.compile(
    r"(?:(?:\w*_)?CHECK\w*|AT_ASSERT\w*|assert|TORCH_WARN\w*|\w*_LAUNCH_CHECK|(?:std::)?f?printf)\s*\(|std::c(?:out|err)\b"
    r"|(?:\w+\s*\(\s*)?cudaEvent\w+\s*\("
)
_OWN_WORK = re.compile(r"\(\s*(?:cuda(?!Get|Peek|Event)\w+\(|\w+\s*=[^=])")
"""`C10_CUDA_CHECK(cudaMalloc(...))` does something, too."""


def find(program: Program) -> Iterator[Edit]:
    for source in sources(program):
        found = [node for node in source.tree.root.walk() if _checks(source, node)]
        if len(found) > 1:
            yield source.drop(f"remove all {len(found)} checks", found)
        for node in found:
            yield source.drop(f"remove check at line {source.line(node)}", [node], level=1 + depth(node))


def _checks(source: Source, node: Node) -> bool:
    if node.kind == "static_assert_declaration":
        return True
    text = source.of(node)
    if node.kind == "declaration" and "chrono::" in text:
        return enclosing(node, "compound_statement") is not None
    return node.kind == "expression_statement" and bool(_CHECK.match(text)) and not _OWN_WORK.search(text[:200])
