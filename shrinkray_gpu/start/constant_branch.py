"""An access in a branch that is decided when the kernel is compiled: `if EVEN: tl.load(p) else: tl.load(p, mask=m)`.

The branch without the mask is right where its constant is. So the constant may be what is wrong, and whoever makes it:
a decorator of the kernel, or the host. Triton's IR has no trace of the branch that was not taken.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from shrinkray_gpu.start.host_code import names, parameters


class ConstantBranch(NamedTuple):
    """What must stay of a kernel."""

    test: ast.If
    accesses: list[ast.stmt]
    """Of both branches."""
    constants: list[str]
    """The kernel's parameters that decide."""


def constant_branch(kernel: ast.FunctionDef, line: int) -> ConstantBranch | None:
    """The innermost branch around the access at this line that constants decide, and whose other side masks more of
    what it accesses; None where there is none."""
    own = _constants(kernel)
    found = None
    for node in ast.walk(kernel):
        if isinstance(node, ast.If) and node.orelse and own.issuperset(names(node.test)) and any(names(node.test)):
            for taken, other in ((node.body, node.orelse), (node.orelse, node.body)):
                mine = [each for each in _accesses(taken) if each.lineno <= line <= (each.end_lineno or each.lineno)]
                theirs = list(_accesses(other))
                if mine and _masked(mine) < _masked(theirs):
                    found = ConstantBranch(node, [*mine, *theirs], [name for name in names(node.test) if name in own])
    return found


def _constants(kernel: ast.FunctionDef) -> set[str]:
    every = (*kernel.args.posonlyargs, *kernel.args.args, *kernel.args.kwonlyargs)
    told = {each.arg for each in every if each.annotation and "constexpr" in list(names(each.annotation))}
    return told & set(parameters(kernel))


def _accesses(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr)) and any(_calls(node)):
                yield node


def _calls(statement: ast.stmt) -> Iterator[ast.Call]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and next(names(node.func), "") in ("load", "store"):
            yield node


def _masked(statements: Iterable[ast.stmt]) -> int:
    """How many conditions the masks of these accesses have, the most that one has."""
    masks = [each.value for one in statements for call in _calls(one) for each in call.keywords if each.arg == "mask"]
    return max((1 + sum(isinstance(node, ast.BitAnd) for node in ast.walk(mask)) for mask in masks), default=0)
