"""Through which of its parameters a kernel writes, and by which of its statements."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from shrinkray_gpu.start.statements import assigned, names, parameters, targets

_NUMBERS = frozenset({"load", "arange", "program_id", "num_programs", "cdiv", "zeros"})
"""Functions of Triton's language whose results are no pointers."""
_OWN = frozenset({"range", "min", "max", "abs", "float", "int"})
"""Functions of Python that kernels call, and that write nothing."""


def written(kernel: ast.FunctionDef, calls: Iterable[ast.Call] | None = None) -> set[str]:
    """The parameters through which a kernel may write: those that an address comes from, or that a call gets. `calls`:
    by these of its calls."""
    found: set[str] = set()
    every = (each for each in ast.walk(kernel) if isinstance(each, ast.Call))
    for call in every if calls is None else calls:
        name = next(names(call.func), "")
        if "store" in name or "atomic" in name:
            found.update(_outside_loads(call if isinstance(call.func, ast.Name) or not call.args else call.args[0]))
            found.update(names(call.func))
        elif isinstance(call.func, ast.Name) and name not in _OWN:
            found.update(name for each in call.args for name in names(each))
    for _ in range(len(kernel.body)):
        more = {
            name
            for each in ast.walk(kernel)
            if isinstance(each, (ast.Assign, ast.AugAssign))
            and any(not found.isdisjoint(assigned(target)) for target in targets(each))
            for name in _outside_loads(each.value)
        }
        if more <= found:
            break
        found |= more
    return found & set(parameters(kernel))


def _outside_loads(node: ast.AST) -> Iterator[str]:
    """Names in an expression of a kernel that may be pointers: not what `tl.load` reads, a factor, or an index."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _NUMBERS:
        return
    if isinstance(node, ast.BinOp) and not isinstance(node.op, (ast.Add, ast.Sub)):
        return
    if isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, (ast.Name, ast.Attribute)):
        yield node.id if isinstance(node, ast.Name) else node.attr
    for each in ast.iter_child_nodes(node):
        yield from _outside_loads(each)
