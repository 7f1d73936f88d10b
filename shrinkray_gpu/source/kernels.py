"""What a compiler of kernels reads and Python does not run: kernels, and whatever stands in them."""

from __future__ import annotations

import libcst as cst

from shrinkray_gpu.language import languages
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.spelling import decorator_meaning
from shrinkray_gpu.source.tree import ancestors, every, once, within


def is_kernel(program: Program, function: cst.FunctionDef) -> bool:
    """Whether the function is written in a kernel language, by one of its decorators."""
    return function in _kernels(program)


@once
def _kernels(program: Program) -> frozenset[cst.FunctionDef]:
    return frozenset(each for each in every(program, cst.FunctionDef) if _is_kernel(program, each))


def _is_kernel(program: Program, function: cst.FunctionDef) -> bool:
    names = [decorator_meaning(program, each) for each in function.decorators]
    return any(languages.makes_kernel(name) or languages.tunes_kernel(name) for name in names)


def makes_kernel(program: Program, decorator: cst.Decorator) -> bool:
    """Whether this decorator hands its function to a compiler of kernels."""
    return languages.makes_kernel(decorator_meaning(program, decorator))


def kernel_around(program: Program, node: cst.CSTNode) -> cst.FunctionDef | None:
    """The kernel that the node belongs to: to its decorators, header or body."""
    around = (up for up in ancestors(program, node) if isinstance(up, cst.FunctionDef))
    return next((up for up in around if is_kernel(program, up)), None)


def in_kernel(program: Program, node: cst.CSTNode) -> bool:
    """Whether the node belongs to a kernel: its decorators, header or body."""
    return kernel_around(program, node) is not None


def parameter_in(program: Program, kernel: cst.FunctionDef, node: cst.CSTNode) -> cst.Name | None:
    """The first of the kernel's parameters that the node names: of an address, mostly the pointer."""
    names = {param.name.value for param in kernel.params.params}
    return next((name for name in within(program, node, cst.Name) if name.value in names), None)
