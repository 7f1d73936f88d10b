"""What Triton compiles and Python does not run: kernels, and whatever stands in them."""

from __future__ import annotations

import libcst as cst

from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.calls import decorator_name, is_kernel
from shrinkray_gpu.source.tree import ancestors, within


def compiled(function: cst.FunctionDef) -> bool:
    """Whether the function is a kernel of Triton, Gluon or a like language (`@gluon.jit`)."""
    return is_kernel(function) or any(decorator_name(each).split(".")[-1] == "jit" for each in function.decorators)


def in_kernel(program: Program, node: cst.CSTNode) -> bool:
    """Whether the node belongs to a kernel: its decorators, header or body."""
    return any(isinstance(up, cst.FunctionDef) and compiled(up) for up in ancestors(program, node))


def parameter_in(program: Program, kernel: cst.FunctionDef, node: cst.CSTNode) -> cst.Name | None:
    """The first of the kernel's parameters that the node names: of an address, mostly the pointer."""
    names = {param.name.value for param in kernel.params.params}
    return next((name for name in within(program, node, cst.Name) if name.value in names), None)
