"""What only people read: decorators and their arguments, annotations, docstrings.

Little of it can matter to a fault, so all that is harmless goes in one edit, for one try. Some of it does matter and is
tried alone: a `tl.constexpr` annotation changes what Triton compiles, fields of a dataclass live by their annotations,
and `@triton.jit` and its like make a function what it is. Comments cost no try at all: the layout leaves them out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import libcst as cst

from shrinkray_gpu.language.languages import DECORATORS
from shrinkray_gpu.reduction.edit import Edit, Remove, Replace
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.spelling import decorator_meaning
from shrinkray_gpu.source.tree import ancestors, docstring, every, line_number, source, weight

_ESSENTIAL = DECORATORS | frozenset({"property", "staticmethod", "classmethod", "dataclass",
                        "contextmanager", "setter", "kernel", "fixture", "custom_op", "autograd_function"})  # fmt: skip
"""Last names of decorators without which a function cannot be used as it is."""
_NEEDED: Mapping[str, Sequence[str]] = {
    "autotune": ("configs", "key"),
    "heuristics": ("values",),
    "custom_op": ("name", "mutates_args"),
}
"""Decorators that are nothing without their arguments, and which of these they need."""


def find(program: Program) -> Iterator[Edit]:
    bodies: list[cst.Module | cst.BaseSuite] = [
        program.module,
        *(function.body for function in every(program, cst.FunctionDef)),
        *(definition.body for definition in every(program, cst.ClassDef)),
    ]
    docstrings: list[cst.CSTNode] = [found for body in bodies if (found := docstring(body)) is not None]
    annotations = [node for node in every(program, cst.Annotation) if not _constexpr(program, node)]
    plain: list[cst.CSTNode] = [node for node in annotations if not _field(program, node)]
    decorators = every(program, cst.Decorator)
    harmless: list[cst.CSTNode] = [node for node in decorators if _last(program, node) not in _ESSENTIAL]

    kinds = {"docstrings": docstrings, "annotations": plain, "decorators": harmless}
    present = {kind: nodes for kind, nodes in kinds.items() if nodes}
    everything = [node for nodes in present.values() for node in nodes]
    if len(present) > 1:
        yield _edit(program, f"remove all {', '.join(present)}", everything, 0)
    for kind, nodes in present.items():
        if len(nodes) > 1:
            yield _edit(program, f"remove all {kind}", nodes, 1)
    constexprs: list[cst.CSTNode] = [node for node in every(program, cst.Annotation) if _constexpr(program, node)]
    if len(constexprs) > 1:
        yield _edit(program, "remove all tl.constexpr", constexprs, 1)
    for node in [*docstrings, *annotations, *constexprs, *decorators]:
        what = " ".join(source(program, node).split())
        yield _edit(program, f"remove {what[:40]} at line {line_number(program, node)}", [node], 2)
    for decorator in decorators:
        yield from _fewer_arguments(program, decorator)


def _fewer_arguments(program: Program, decorator: cst.Decorator) -> Iterator[Edit]:
    """`@triton.jit(debug=True)` as `@triton.jit`, and without one argument each."""
    call, needed = decorator.decorator, _NEEDED.get(_last(program, decorator))
    if not isinstance(call, cst.Call):
        return
    where = f"of the decorator at line {line_number(program, decorator)}"
    if needed is None:
        gain = weight(program, call) - weight(program, call.func)
        yield Edit(f"drop the call {where}", (Replace(call, (call.func,)),), 2, gain)
    for arg in call.args:
        if needed is None or arg.keyword is not None and arg.keyword.value not in needed:
            what = " ".join(source(program, arg).split())
            yield _edit(program, f"drop {what[:40]} {where}", [arg], 2)


def _edit(program: Program, what: str, nodes: list[cst.CSTNode], level: int) -> Edit:
    return Edit(what, tuple(_removal(program, node) for node in nodes), level, weight(program, *nodes))


def _removal(program: Program, node: cst.CSTNode) -> Remove:
    """`x: int` alone, without a value, is nothing but its annotation."""
    parent = program.parents[node]
    return Remove(parent if isinstance(parent, cst.AnnAssign) and parent.value is None else node)


def _constexpr(program: Program, annotation: cst.CSTNode) -> bool:
    return "constexpr" in source(program, annotation)


def _field(program: Program, annotation: cst.CSTNode) -> bool:
    """Of a class variable: a dataclass or a named tuple reads it."""
    parent = program.parents[annotation]
    if not isinstance(parent, cst.AnnAssign):
        return False
    around = next((a for a in ancestors(program, parent) if isinstance(a, (cst.FunctionDef, cst.ClassDef))), None)
    return isinstance(around, cst.ClassDef)


def _last(program: Program, decorator: cst.Decorator) -> str:
    return decorator_meaning(program, decorator).rpartition(".")[2]
