"""CUDA: `#if` and `#ifdef` resolved to one branch, or to none.

By lines and not by the syntax tree: real kernels have half an `if` in one branch and its `else` in the other, which no
grammar of the unpreprocessed text understands. So this goes first, and the other passes get what they can read. A flag
(`-DUSE_WMMA`) that nothing asks for any more is then an argument of the build like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.native.native_tree import Node, Tree
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import Source

_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b")


def find(program: Program) -> Iterator[Edit]:
    for literal in program.literals:
        if "#" not in literal.source or "if" not in literal.source:
            continue
        tree = _by_lines(literal.source)
        if tree is None:
            continue
        source = Source(replace(literal, grammar=partial(_known, tree)))
        for node in tree.nodes("conditional"):
            level = sum(1 for up in node.above() if up.kind == "conditional")
            where = f"at line {source.line(node)}"
            for branch in [each for each in node.children if each.kind == "branch"]:
                yield source.put(f"resolve conditional {where}", node, branch, level=level)
            yield source.put(f"remove conditional {where}", node, "", level=level)


def _known(tree: Tree, _: str) -> Tree:
    return tree


def _by_lines(text: str) -> Tree | None:
    """A tree of the conditionals alone; None where they do not match up."""
    root = Node("source", 0, len(text))
    here = root
    at = 0
    for line in text.splitlines(keepends=True):
        found = _DIRECTIVE.match(line)
        end = at + len(line)
        word = found[1] if found else ""
        if word.startswith("if"):
            outer = Node("conditional", at, end, parent=here)
            here.children.append(outer)
            here = Node("branch", end, end, parent=outer)
            outer.children.append(here)
        elif word:
            if here.kind != "branch":
                return None
            here.last = at
            assert here.parent is not None
            outer = here.parent
            if word == "endif":
                outer.last = end
                assert outer.parent is not None
                here = outer.parent
            else:
                here = Node("branch", end, end, parent=outer)
                outer.children.append(here)
        at = end
    return Tree(text, root, 0) if here is root else None
