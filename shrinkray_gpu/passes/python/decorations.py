"""What only people read: decorators and their arguments, annotations, docstrings.

Little of it can matter to a fault, so all that is harmless goes in one edit, for one try. Some of it does matter and is
tried alone: a `tl.constexpr` annotation changes what Triton compiles, fields of a dataclass live by their annotations,
and `@triton.jit` and its like make a function what it is. Comments cost no try at all: the layout leaves them out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

import libcst as cst

from shrinkray_gpu.language.languages import DECORATORS
from shrinkray_gpu.reduction.edit import Edit, Remove
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.edits import replacement
from shrinkray_gpu.source.spelling import decorator_meaning
from shrinkray_gpu.source.tree import docstrings, every, in_class_body, line_number, source, weight

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
    texts, decorators = docstrings(program), every(program, cst.Decorator)
    constexprs = [node for node in every(program, cst.Annotation) if "constexpr" in source(program, node)]
    annotations = [node for node in every(program, cst.Annotation) if node not in constexprs]
    kinds: Mapping[str, Sequence[cst.CSTNode]] = {
        "docstrings": texts,
        "annotations": [node for node in annotations if not _is_field(program, node)],
        "decorators": [node for node in decorators if _last_name(program, node) not in _ESSENTIAL],
    }
    present = {kind: nodes for kind, nodes in kinds.items() if nodes}
    if len(present) > 1:
        yield _removal(program, f"remove all {', '.join(present)}", [*chain(*present.values())], 0)
    for kind, nodes in {**present, "tl.constexpr": constexprs}.items():
        if len(nodes) > 1:
            yield _removal(program, f"remove all {kind}", nodes, 1)
    for node in (*texts, *annotations, *constexprs, *decorators):
        what = " ".join(source(program, node).split())
        yield _removal(program, f"remove {what[:40]} at line {line_number(program, node)}", [node], 2)
    for decorator in decorators:
        yield from _fewer_arguments(program, decorator)


def _fewer_arguments(program: Program, decorator: cst.Decorator) -> Iterator[Edit]:
    """`@triton.jit(debug=True)` as `@triton.jit`, and without one argument each."""
    call, needed = decorator.decorator, _NEEDED.get(_last_name(program, decorator))
    if not isinstance(call, cst.Call):
        return
    where = f"of the decorator at line {line_number(program, decorator)}"
    if needed is None:
        yield replacement(program, f"drop the call {where}", call, (call.func,), 2)
    for arg in call.args:
        if needed is None or arg.keyword is not None and arg.keyword.value not in needed:
            what = " ".join(source(program, arg).split())
            yield _removal(program, f"drop {what[:40]} {where}", [arg], 2)


def _removal(program: Program, what: str, nodes: Iterable[cst.CSTNode], level: int) -> Edit:
    """Drops these nodes. `x: int` alone, without a value, is nothing but its annotation."""
    parents = {node: program.parents[node] for node in nodes}
    bare = {node for node, up in parents.items() if isinstance(up, cst.AnnAssign) and up.value is None}
    gone = (Remove(up if node in bare else node) for node, up in parents.items())
    return Edit(what, tuple(gone), level, weight(program, *parents))


def _is_field(program: Program, annotation: cst.CSTNode) -> bool:
    """Whether it is that of a class variable: a dataclass or a named tuple reads it."""
    parent = program.parents[annotation]
    return isinstance(parent, cst.AnnAssign) and in_class_body(program, parent)


def _last_name(program: Program, decorator: cst.Decorator) -> str:
    return decorator_meaning(program, decorator).rpartition(".")[2]
