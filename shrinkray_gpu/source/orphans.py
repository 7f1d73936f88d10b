"""What only a part of a kernel used, and nobody needs once that part is gone: variables, then parameters.

Where an expression is replaced by something that reads no names, its definitions stay behind, and often the replacement
alone is longer than what it replaces: only together are they a step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import libcst as cst

from shrinkray_gpu.reduction.edit import Change, Remove
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.calls import all_parameters, functions, matches, takes_any_option
from shrinkray_gpu.source.scoping import Binding, bindings
from shrinkray_gpu.source.tree import function, once, statement, weight, within


def orphans(program: Program, gone: Iterable[cst.CSTNode], *, kept: Sequence[cst.CSTNode] = ()) -> list[Remove]:
    """What goes with these nodes of one kernel: assignments, parameters with their arguments. `kept`: parts of `gone`
    that stay after all."""
    new = [*gone]
    kernel = function(program, new[0])
    if kernel is None:
        return []
    reading = _reading(program).get(kernel, {})
    settled = {reading[name] for node in kept for name in within(program, node, cst.Name) if name in reading}
    left: dict[_Variable, set[cst.Name]] = {}
    losses: list[Remove] = []
    while new:
        touched: set[_Variable] = set()
        for node in new:
            for name in within(program, node, cst.Name):
                variable = reading.get(name)
                if variable is not None and variable not in settled:
                    left.setdefault(variable, set(variable.readers)).discard(name)
                    touched.add(variable)
        dead = [each for each in touched if not left[each]]
        dead.sort(key=lambda each: program.spans[each.binding.names[0]])
        settled.update(dead)
        new = [node for each in dead for node in each.makers or _parameter(program, kernel, each.binding)]
        losses += map(Remove, new)
    return losses


def weights(program: Program, changes: Iterable[Change]) -> int:
    """About how many tokens these removals take away."""
    return sum(weight(program, change.node) for change in changes if isinstance(change, Remove))


@dataclass(frozen=True, eq=False)
class _Variable:
    """A variable of a kernel that can go as a whole, once nothing but its own lines reads it."""

    binding: Binding
    makers: tuple[cst.CSTNode, ...]
    """The statements that do nothing but set it; none of a parameter."""
    readers: frozenset[cst.Name]
    """Where other lines read it."""


@once
def _reading(program: Program) -> dict[cst.FunctionDef, dict[cst.Name, _Variable]]:
    """The variables of each function, parameters among them, by every Name that reads them."""
    found: dict[cst.FunctionDef, dict[cst.Name, _Variable]] = {}
    for binding in bindings(program):
        place = binding.places[0]
        up = program.parents[program.parents[place]] if isinstance(place, cst.Param) else function(program, place)
        if isinstance(up, cst.FunctionDef) and (variable := _variable(program, binding)) is not None:
            found.setdefault(up, {}).update(dict.fromkeys(binding.reads, variable))
    return found


def _variable(program: Program, binding: Binding) -> _Variable | None:
    """None of what cannot go: it is declared elsewhere, or bound by more than statements of its own."""
    makers: list[cst.CSTNode] = []
    for place in binding.places:
        if isinstance(place, cst.Param):
            continue
        made = statement(program, place)
        if isinstance(made, cst.Assign) and len(made.targets) == 1 and made.targets[0].target is place:
            makers.append(made)
        elif isinstance(made, (cst.AugAssign, cst.AnnAssign)) and made.target is place:
            makers.append(made)
        else:
            return None
    if binding.declared or makers and isinstance(binding.places[0], cst.Param):
        return None
    own = {name for made in makers for name in within(program, made, cst.Name)}
    return _Variable(binding, tuple(makers), frozenset(binding.reads) - own)


def _parameter(program: Program, kernel: cst.FunctionDef, binding: Binding) -> list[cst.CSTNode]:
    """The parameter with its arguments; nothing where a call may give it in a way that is not seen."""
    param = binding.places[0]
    for each in functions(program):
        if each.node is not kernel or not each.only_called or param not in all_parameters(kernel):
            continue
        given = [matches(call, each) for call in each.calls]
        if not any(found is None for found in given) and not any(map(takes_any_option, each.calls)):
            assert isinstance(param, cst.Param)
            return [param, *(found[param] for found in given if found is not None and param in found)]
    return []
