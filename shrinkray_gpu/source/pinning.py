"""A variable pinned to a value: all its reads replaced, and what binds it removed, in one edit.

Half of it never works alone: a binding without its reads changes nothing, reads without their binding are a NameError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import libcst as cst

from shrinkray_gpu.reduction.edit import Change, Remove, Replace, Template
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.calls import Function, matches
from shrinkray_gpu.source.literals import code
from shrinkray_gpu.source.masking import always_holds
from shrinkray_gpu.source.scoping import Binding, variables_by_place, variables_by_read
from shrinkray_gpu.source.tree import ancestors, dotted_text, every, holds, once, statement


def assigned_value(program: Program, binding: Binding) -> tuple[cst.BaseSmallStatement, cst.BaseExpression] | None:
    """Statement and value of a variable that has one plain assignment, else None."""
    if len(binding.places) != 1 or binding.declared:
        return None
    place = binding.places[0]
    made = statement(program, place)
    if isinstance(made, cst.Assign) and len(made.targets) == 1 and made.targets[0].target is place:
        return made, made.value
    if isinstance(made, cst.AnnAssign) and made.target is place and made.value is not None:
        return made, made.value
    return None


def maker(program: Program, value: cst.BaseExpression) -> cst.BaseExpression:
    """The call of torch that makes the tensor which an argument is, or the argument itself."""
    variable = variables_by_read(program).get(value) if isinstance(value, cst.Name) else None
    made = assigned_value(program, variable) if variable is not None else None
    if made is not None and isinstance(made[1], cst.Call) and dotted_text(made[1].func).startswith("torch."):
        return made[1]
    return value


def replace_reads(program: Program, reads: Sequence[cst.CSTNode], by: Template) -> list[Change] | None:
    """The reads replaced; None where one of them is no value (`del x`, or a name that `x += 1` writes again), where the
    value has quotes that Python before 3.12 does not take in an f-string, or where it makes a mask that always holds.
    """
    text = "".join(part if isinstance(part, str) else code(part) for part in by)
    quoted = any(mark in text for mark in "'\"\\")
    for read in reads:
        if quoted and any(isinstance(up, cst.FormattedStringExpression) for up in ancestors(program, read)):
            return None
        parent = program.parents[read]
        if isinstance(parent, (cst.Del, cst.NameItem)) or isinstance(parent, cst.AugAssign) and parent.target is read:
            return None
        if isinstance(read, cst.BaseExpression) and always_holds(program, read, by):
            return None
    return [Replace(read, by) for read in reads]


def pin_parameter(program: Program, function: Function, param: cst.Param, by: Template) -> list[Change] | None:
    """The parameter, the arguments of all calls and the reads in the body, as one change. None if a use is not seen.

    A grid function reads launch arguments as `META["BLOCK"]`, a decorator names them in `key=["BLOCK"]`.
    """
    name, binding = param.name.value, variables_by_place(program)[param]
    changes = replace_reads(program, binding.reads, by)
    if changes is None or not function.only_called or len(binding.places) != 1 or binding.declared:
        return None
    for call in function.calls:
        given = matches(call, function)
        if given is None:
            return None
        changes += [Remove(given[param])] if param in given else []
    texts = strings(program).get(name, [])
    if any(holds(program, decorator, text) for decorator in function.node.decorators for text in texts):
        return None
    for text in texts:
        lookup = _lookup(program, text)
        if lookup is not None and any(isinstance(call.func, cst.Subscript) for call in function.calls):
            changes.append(Replace(lookup, by))
    return [*changes, Remove(param)]


@once
def strings(program: Program) -> Mapping[str | bytes, list[cst.SimpleString]]:
    """The string literals of the program by what they hold."""
    found: dict[str | bytes, list[cst.SimpleString]] = {}
    for text in every(program, cst.SimpleString):
        found.setdefault(text.evaluated_value, []).append(text)
    return found


def _lookup(program: Program, text: cst.CSTNode) -> cst.Subscript | None:
    """`META["BLOCK"]`, where META is a plain name that is read."""
    index = program.parents[text]
    element = program.parents[index]
    lookup = program.parents[element]
    if isinstance(index, cst.Index) and isinstance(lookup, cst.Subscript) and isinstance(lookup.value, cst.Name):
        if len(lookup.slice) == 1 and lookup.value.value.lower() in ("meta", "args", "opt", "opts", "kwargs", "p", "x"):
            return lookup
    return None
