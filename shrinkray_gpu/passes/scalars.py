"""A number for a tensor of which a kernel reads one element: it may as well be given the element.

    slot = tl.load(slots_ptr)                                      to    slot = slots_ptr
    kernel[(1,)](table, torch.tensor([2100982, 7], ...))           to    kernel[(1,)](table, 2100982)

All loads through that pointer and all its arguments change together. A constant in the kernel is not the same: of an
offset that overflows at run time, Triton makes a Python number of any size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import libcst as cst

from shrinkray_gpu.passes.calls import Function, all_parameters, functions, matches
from shrinkray_gpu.passes.literals import code, is_scalar
from shrinkray_gpu.passes.pinning import maker
from shrinkray_gpu.passes.scoping import Binding, bindings, readers
from shrinkray_gpu.passes.tree import dotted, weight
from shrinkray_gpu.reduction.edit import Edit, Replace
from shrinkray_gpu.reduction.program import Program

_FILLED = {"zeros": "0", "ones": "1"}


def find(program: Program) -> Iterator[Edit]:
    variables = bindings(program)
    stands_for = readers(program, variables)
    variable_of = {place: binding for binding in variables for place in binding.places if isinstance(place, cst.Param)}
    for function in functions(program, variables):
        if not (function.is_kernel and function.only_called and function.calls):
            continue
        for param in all_parameters(function.node):
            loads = [_load(program, read) for read in variable_of[param].reads]
            elements = _elements(program, function, param, stands_for)
            if not elements or not loads or None in loads:
                continue
            put = [Replace(load, (param.name.value,)) for load in loads if load is not None]
            given = [Replace(arg.value, (element,)) for arg, element in elements]
            gain = weight(program, *(change.node for change in (*put, *given))) - len(put) - len(given)
            what = f"numbers for the tensor {param.name.value} of {function.node.name.value}"
            yield Edit(what, (*put, *given), 0, max(1, gain))


def _load(program: Program, read: cst.Name) -> cst.Call | None:
    """The load through this pointer as it is, without an offset: of one element."""
    arg = program.parents[read]
    call = program.parents[arg]
    if isinstance(arg, cst.Arg) and isinstance(call, cst.Call) and call.args[0] is arg and arg.keyword is None:
        return call if dotted(call.func).rpartition(".")[2] == "load" else None
    return None


def _elements(
    program: Program, function: Function, param: cst.Param, stands_for: Mapping[cst.Name, Binding]
) -> Sequence[tuple[cst.Arg, str]]:
    """The parameter's argument in each call, with the first element of that tensor; nothing if one is not known."""
    found = []
    for call in function.calls:
        given = (matches(call, function) or {}).get(param)
        element = _first(maker(program, given.value, stands_for)) if given is not None else ""
        if given is None or not element:
            return ()
        found.append((given, element))
    return found


def _first(made: cst.BaseExpression) -> str:
    """The first element of a tensor that torch makes here, where that is written down; else nothing."""
    if not isinstance(made, cst.Call) or not made.args:
        return ""
    owner, _, name = dotted(made.func).rpartition(".")
    if owner != "torch" or name not in ("tensor", "arange", *_FILLED):
        return ""
    values: cst.BaseExpression = made.args[0].value
    while name == "tensor" and isinstance(values, (cst.List, cst.Tuple)) and values.elements:
        values = values.elements[0].value
    if name == "arange" and sum(arg.keyword is None for arg in made.args) == 1:
        return "0"  # one number is where it ends
    if name in ("arange", "tensor"):
        return code(values) if is_scalar(values) and made.args[0].keyword is None else ""
    return _FILLED[name]
