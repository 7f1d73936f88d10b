"""Which calls reach a function of the program, and which argument becomes which parameter.

Triton has its own way to call: `kernel[grid](x, BLOCK=64, num_warps=4)`. The options are no parameters of the kernel,
and `kernel.warmup(...)` takes the grid among its arguments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.kernels import is_kernel
from shrinkray_gpu.source.scoping import Binding, bindings
from shrinkray_gpu.source.tree import dotted_text, every, is_member, once, within

_CALLED_BY_AUTOGRAD = frozenset({"backward", "setup_context", "jvp", "vmap"})
"""`loss.backward()` is not a call of such a method."""


@dataclass(frozen=True, eq=False)
class Function:
    """A function of the program and the calls that reach it."""

    node: cst.FunctionDef
    calls: tuple[cst.Call, ...]
    only_called: bool
    """All mentions of the function are these calls: nothing hands it on, to where we cannot see its arguments."""
    bound: bool
    """The calls leave out the first parameter (self, cls, ctx)."""
    is_kernel: bool = False
    """A compiler of kernels reads it, see `kernels`."""


def decorator_name(decorator: cst.Decorator) -> str:
    """`triton.autotune` of `@triton.autotune(...)`."""
    expression = decorator.decorator
    return dotted_text(expression.func if isinstance(expression, cst.Call) else expression)


@once
def functions(program: Program) -> list[Function]:
    """Every function that is defined once under its name (or method name), with its calls."""
    found: list[Function] = []
    for binding in bindings(program):
        if len(binding.places) != 1 or not isinstance(place := binding.places[0], cst.FunctionDef):
            continue
        if is_member(program, place):
            continue
        calls, only_called = _calls_of(program, binding.reads)
        found.append(Function(place, calls, only_called, bound=False, is_kernel=is_kernel(program, place)))
    return [*found, *_methods(program)]


def matches(call: cst.Call, function: Function) -> Mapping[cst.Param, cst.Arg] | None:
    """The explicit arguments of a call by parameter; None if `*args` leaves that open."""
    parameters = function.node.params
    positional = [*parameters.posonly_params, *parameters.params]
    by_name = {param.name.value: param for param in (*parameters.params, *parameters.kwonly_params)}
    if function.bound:
        positional = positional[1:]
    taken: dict[cst.Param, cst.Arg] = {}
    index = 0
    for arg in call.args:
        if arg.star == "*":
            return None
        if arg.star:
            continue  # may give what nothing else gives, see `takes_any_option`
        if arg.keyword is not None:
            param = by_name.get(arg.keyword.value)
            if param is not None:
                taken[param] = arg
        elif index < len(positional):
            taken[positional[index]] = arg
            index += 1
    return taken


def argument(call: cst.Call, name: str, place: int) -> cst.BaseExpression | None:
    """What a call of a library gives for the parameter of this name at this place."""
    for index, arg in enumerate(call.args):
        if arg.keyword.value == name if arg.keyword is not None else index == place and not arg.star:
            return arg.value
    return None


def takes_any_option(call: cst.Call) -> bool:
    """Whether `**options` may give any parameter that nothing else gives."""
    return any(arg.star == "**" for arg in call.args)


def all_parameters(function: cst.FunctionDef) -> list[cst.Param]:
    """The named parameters, not `*args` and `**kwargs`."""
    parameters = function.params
    return [*parameters.posonly_params, *parameters.params, *parameters.kwonly_params]


def _calls_of(program: Program, mentions: Sequence[cst.CSTNode]) -> tuple[tuple[cst.Call, ...], bool]:
    """The calls whose function is mentioned there, and whether each mention is one."""
    calls = tuple(call for mention in mentions if (call := _call_of(program, mention)) is not None)
    return calls, len(calls) == len(mentions)


def _call_of(program: Program, mention: cst.CSTNode) -> cst.Call | None:
    """The call `f(...)`, `f[grid](...)` or `f.warmup(...)` whose function this mention is."""
    parents = program.parents
    callee: cst.CSTNode = mention
    above = parents.get(callee)
    if isinstance(above, cst.Subscript) and above.value is callee:
        callee, above = above, parents.get(above)
    elif isinstance(above, cst.Attribute) and above.value is callee and above.attr.value in ("warmup", "run"):
        callee, above = above, parents.get(above)
    return above if isinstance(above, cst.Call) and above.func is callee else None


def _methods(program: Program) -> Iterator[Function]:
    """Methods, found by their names: `x.method(...)`; `Class(...)` calls `__init__`, `Class.apply(...)` `forward`,
    and `module(...)` `forward` or `__call__` where `module` was made by `Class(...)`."""
    attributes: dict[str, list[cst.Attribute]] = {}
    for attribute in every(program, cst.Attribute):
        attributes.setdefault(attribute.attr.value, []).append(attribute)
    methods = [
        (binding, method)
        for binding in bindings(program)
        if len(binding.places) == 1 and isinstance(definition := binding.places[0], cst.ClassDef)
        for method in definition.body.body
        if isinstance(method, cst.FunctionDef)
    ]
    defined = Counter(method.name.value for _, method in methods)
    for binding, method in methods:
        name, kernel = method.name.value, is_kernel(program, method)
        static = any(decorator_name(decorator) == "staticmethod" for decorator in method.decorators)
        if name == "__init__":
            calls, _ = _calls_of(program, binding.reads)
            yield Function(method, calls, only_called=True, bound=True)
        elif name == "forward" and static:
            applied = [a for a in attributes.get("apply", []) if _is_read_of(a.value, binding)]
            calls, only_called = _calls_of(program, applied)
            yield Function(method, calls, only_called, bound=True, is_kernel=kernel)
        elif defined[name] == 1 and name not in _CALLED_BY_AUTOGRAD and (name == "__call__" or name[:2] != "__"):
            calls, only_called = _calls_of(program, attributes.get(name, []))
            if name in ("forward", "__call__"):
                calls = (*_instance_calls(program, binding), *calls)
            yield Function(method, calls, only_called and name != "__call__", bound=not static, is_kernel=kernel)


def _is_read_of(node: cst.CSTNode, binding: Binding) -> bool:
    return any(node is read for read in binding.reads)


def _instance_calls(program: Program, of: Binding) -> list[cst.Call]:
    """Calls of variables that were made by `Class(...)`, also by `Class(...).cuda()`."""
    calls: list[cst.Call] = []
    for binding in bindings(program):
        makers = [program.parents.get(program.parents.get(name)) for name in binding.names]  # type: ignore[arg-type]
        assigns = [maker for maker in makers if isinstance(maker, cst.Assign)]
        if len(assigns) != len(binding.places) or not assigns:
            continue
        if not all(any(_is_read_of(n, of) for n in within(program, a.value, cst.Name)) for a in assigns):
            continue
        calls += _calls_of(program, binding.reads)[0]
    return calls
