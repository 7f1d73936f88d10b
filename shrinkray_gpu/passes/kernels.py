"""Triton kernels of a Program, where they are launched or called, and which argument feeds which parameter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import libcst as cst
import libcst.matchers as m
from libcst.metadata import Assignment

from shrinkray_gpu.passes.literals import last_name
from shrinkray_gpu.reduction.program import Program


@dataclass(frozen=True)
class Callee:
    """A function of the program, and every use of its name."""

    definition: cst.FunctionDef
    calls: tuple[cst.Call, ...]
    """`f(...)`, and for kernels `f[grid](...)`."""
    visible: bool
    """Whether those calls are all there is: not passed on, not stored, not `f.warmup(...)`, not bound twice."""

    @property
    def name(self) -> str:
        return self.definition.name.value


def is_kernel(function: cst.FunctionDef) -> bool:
    """Whether the function is compiled by Triton (or Gluon) and not run by Python."""
    for decorator in function.decorators:
        made_by = decorator.decorator.func if isinstance(decorator.decorator, cst.Call) else decorator.decorator
        if last_name(made_by) == "jit":
            return True
    return False


def ancestors(program: Program, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Parent, grandparent, up to the module."""
    parents = program.parents
    while node in parents:
        node = parents[node]
        yield node


def function_of(program: Program, node: cst.CSTNode) -> cst.FunctionDef | None:
    """The innermost function that the node belongs to, its header included."""
    return next((up for up in ancestors(program, node) if isinstance(up, cst.FunctionDef)), None)


def in_kernel(program: Program, node: cst.CSTNode) -> bool:
    return any(isinstance(up, cst.FunctionDef) and is_kernel(up) for up in ancestors(program, node))


def statement_of(program: Program, node: cst.CSTNode) -> cst.CSTNode:
    """The logical line or compound statement that the node stands in."""
    if isinstance(node, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
        return node
    return next(up for up in ancestors(program, node)
                if isinstance(up, (cst.SimpleStatementLine, cst.BaseCompoundStatement, cst.Module)))


def functions(program: Program) -> list[Callee]:
    """Functions bound by `def` at module level or inside functions, with their calls."""
    found = []
    for node in m.findall(program.module, m.FunctionDef()):
        assert isinstance(node, cst.FunctionDef)
        scope = program.scopes.get(node)
        if scope is None or isinstance(program.parents[program.parents[node]], cst.ClassDef):
            continue
        bindings = [a for a in scope[node.name.value] if isinstance(a, Assignment)]
        visible = len(bindings) == 1 and bindings[0].node is node
        calls = []
        for binding in bindings:
            for access in binding.references:
                call = _call_by(program, access.node)
                if call is None:
                    visible = False
                else:
                    calls.append(call)
        spans = program.spans
        found.append(Callee(node, tuple(sorted(calls, key=lambda call: spans[call])), visible))
    return found


def kernels(program: Program) -> list[Callee]:
    return [callee for callee in functions(program) if is_kernel(callee.definition)]


def launched_grid(call: cst.Call) -> cst.BaseExpression | None:
    """`grid` of `kernel[grid](...)`; None for a plain call."""
    if isinstance(call.func, cst.Subscript) and len(call.func.slice) == 1:
        index = call.func.slice[0].slice
        return index.value if isinstance(index, cst.Index) else None
    return None


def _call_by(program: Program, name: cst.CSTNode) -> cst.Call | None:
    up = program.parents.get(name)
    if isinstance(up, cst.Subscript) and up.value is name:
        name, up = up, program.parents.get(up)
    return up if isinstance(up, cst.Call) and up.func is name else None


def arguments(function: cst.FunctionDef, call: cst.Call) -> Mapping[str, cst.Arg] | None:
    """Which argument feeds which parameter; other keywords (launch options) are left out. None if a `*` hides it."""
    params = function.params
    if isinstance(params.star_arg, cst.Param) or params.star_kwarg is not None:
        return None
    positional = [p.name.value for p in (*params.posonly_params, *params.params)]
    every = {*positional, *(p.name.value for p in params.kwonly_params)}
    given: dict[str, cst.Arg] = {}
    for place, arg in enumerate(call.args):
        if arg.star:
            return None
        if arg.keyword is not None:
            if arg.keyword.value in every:
                given[arg.keyword.value] = arg
        elif place < len(positional):
            given[positional[place]] = arg
        else:
            return None
    return given


def parameters(function: cst.FunctionDef) -> list[cst.Param]:
    params = function.params
    return [*params.posonly_params, *params.params, *params.kwonly_params]
