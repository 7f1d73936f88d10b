"""An access in a branch that is decided when the kernel is compiled: `if EVEN: tl.load(p) else: tl.load(p, mask=m)`.

The branch without the mask is right where its constant is. So the constant may be what is wrong, and whoever makes it:
a decorator of the kernel, or the host. Triton's IR has no trace of the branch that was not taken. So all that both
branches access stays as it is: else the one without the mask would go wrong with a right constant, too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from shrinkray_gpu.start.host_code import HostCode
from shrinkray_gpu.start.slicing import Slice, Slicer
from shrinkray_gpu.start.statements import is_kernel, names, parameters


class ConstantBranch(NamedTuple):
    """One in a kernel."""

    test: ast.If
    accesses: list[ast.stmt]
    """Of both sides."""

    def behind(self, tree: ast.Module, kernel: ast.FunctionDef) -> tuple[Slice, list[str]]:
        """What must stay of the kernel, and of what it calls; and the kernel's parameters that it hangs on."""
        slicer = Slicer(HostCode(_device(tree), device=True))
        parts = [part for each in self.accesses for part in ast.iter_child_nodes(each) if isinstance(part, ast.expr)]
        found = slicer.behind(self.accesses, parts)
        statements, heads = [*found.statements, *self.accesses], list(dict.fromkeys([*found.heads, self.test]))
        functions = list(dict.fromkeys([*found.functions, kernel]))
        return found._replace(statements=statements, heads=heads, functions=functions), slicer.needed(kernel)


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
                    found = ConstantBranch(node, [*mine, *theirs])
    return found


def behind_access(tree: ast.Module, kernel: ast.FunctionDef, line: int) -> list[str]:
    """The kernel's parameters that an access at this line hangs on, by its address and its mask: also those of which
    Triton's IR has no trace, as the constant at which an unrolled loop ends."""
    device = _device(tree)
    accesses = [each for each in _accesses(device.body) if each.lineno <= line <= (each.end_lineno or each.lineno)]
    where: list[ast.expr] = []
    for call in (call for each in accesses for call in _calls(each)):
        mask = 1 if next(names(call.func), "") == "load" else 2
        where += [*call.args[:1], *call.args[mask : mask + 1]]
        where += [each.value for each in call.keywords if each.arg in ("pointer", "mask")]
    slicer = Slicer(HostCode(device, device=True))
    slicer.behind(accesses, where)
    return slicer.needed(kernel)


def _device(tree: ast.Module) -> ast.Module:
    return ast.Module([each for each in ast.walk(tree) if is_kernel(each)], [])


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
