"""What the values in a kernel are to Triton: their types, as a watched run saw them while it compiled.

A kernel is no Python that could be run and asked, but its compiler visits each expression and knows the type of each.
So a kernel's expressions are watched like those of the host (`observed`): `__shrink_saw__(i, ...)` around them is a
call that Triton takes for a builtin; it hands its argument on and notes the type.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import libcst as cst

from shrinkray_gpu.passes.host import observed
from shrinkray_gpu.passes.python.expressions import is_value
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.kernels import is_kernel
from shrinkray_gpu.source.tree import every, function, once, within

_WATCHED = (cst.Call, cst.BinaryOperation, cst.Comparison, cst.Subscript, cst.UnaryOperation)
_TEXT = re.compile(r"<(.+) \[([0-9, ]*)\]>")
_NAMES = (("bf16", "bfloat16"), ("fp8", "float8"), ("fp", "float"))
_PLAIN = re.compile(r"u?int\d+|b?float\d+(e\w+)?")


@dataclass(frozen=True)
class KernelType:
    """The type of a value in a kernel."""

    element: str
    """As Triton's own language spells it (`float16`); `pointer<fp32>` or the like for what has no such name."""
    shape: tuple[int, ...]

    @property
    def plain(self) -> bool:
        """Whether a constant can be of this type: a number, or a block of them."""
        return _PLAIN.fullmatch(self.element) is not None


def watchable(program: Program) -> list[cst.BaseExpression]:
    """Host expressions (see `observed`), then those of kernels: a value's number is its place in this list."""
    return [*observed.watchable(program), *_in_kernels(program)]


@once
def _in_kernels(program: Program) -> list[cst.BaseExpression]:
    found: list[cst.BaseExpression] = []
    for kernel in every(program, cst.FunctionDef):
        if is_kernel(program, kernel):
            nodes = within(program, kernel.body, cst.BaseExpression)  # type: ignore[type-abstract]
            found += [node for node in nodes if _is_watchable(program, node, kernel)]
    return found


def _is_watchable(program: Program, node: cst.BaseExpression, kernel: cst.FunctionDef) -> bool:
    """Values that Triton computes, and variables that calls take. What a loop goes over and what stands as a statement
    must be the call it is."""
    up = program.parents[node]
    if isinstance(up, (cst.Expr, cst.For, cst.WithItem)) or function(program, node) is not kernel:
        return False
    known = isinstance(node, _WATCHED) or isinstance(node, cst.Name) and isinstance(up, cst.Arg)
    return known and is_value(program, node)


def kinds(program: Program, values: Mapping[int, str]) -> dict[cst.CSTNode, KernelType]:
    """The types of a kernel's expressions, where a run has seen one and only one."""
    before = len(observed.watchable(program))
    nodes = _in_kernels(program)
    found: dict[cst.CSTNode, KernelType] = {}
    for number, text in values.items():
        kind = _read(text) if 0 <= number - before < len(nodes) else None
        if kind is not None:
            found[nodes[number - before]] = kind
    return found


def _read(text: str) -> KernelType | None:
    found = _TEXT.fullmatch(text)
    if found is None:
        return None
    element = found[1]
    for short, long in _NAMES:
        if element.startswith(short):
            element = long + element.removeprefix(short)
            break
    return KernelType(element, tuple(int(extent) for extent in found[2].split(",") if extent.strip()))
