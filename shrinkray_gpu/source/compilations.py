"""Compilations without a launch: `triton.compile(ASTSource(kernel, types, constants, attributes), target=..., ...)`."""

from __future__ import annotations

import libcst as cst

from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.calls import argument
from shrinkray_gpu.source.literals import last_name
from shrinkray_gpu.source.tree import ancestors

IR = (".ttir", ".ttgir", ".llir", ".ptx", ".amdgcn")
"""Ends of the names of files that `triton.compile` takes."""


def is_source(node: cst.CSTNode) -> bool:
    """Whether it makes what is compiled: Triton's `ASTSource(...)`, or Gluon's."""
    return isinstance(node, cst.Call) and last_name(node.func).endswith("ASTSource")


def is_compilation(node: cst.CSTNode) -> bool:
    """Whether it compiles such a source, a file of IR, or for a target that it names."""
    if not isinstance(node, cst.Call) or last_name(node.func) != "compile":
        return False
    if node.args and isinstance(path := node.args[0].value, cst.SimpleString):
        return str(path.evaluated_value).endswith(IR)
    return any(is_source(arg.value) or arg.keyword is not None and arg.keyword.value == "target" for arg in node.args)


def is_told(program: Program, node: cst.CSTNode) -> bool:
    """Whether it is what a compilation is told, or part of it. A type or a name that is another one may be accepted
    for the wrong reason: Triton finds its compiled kernels by types, whatever the names."""
    return any(is_source(up) or is_compilation(up) for up in (node, *ancestors(program, node)))


def is_told_of_alignment(program: Program, node: cst.CSTNode) -> bool:
    """Whether it is in `{(0,): [["tt.divisibility", 16]]}`, whose numbers are a parameter's and the hardware's."""
    below = node
    for up in ancestors(program, node):
        if isinstance(up, cst.Call) and is_source(up):
            told = argument(up, "attrs", 3)
            return isinstance(below, cst.Arg) and below.value is told
        below = up
    return False
