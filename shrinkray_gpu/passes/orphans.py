"""What only a part of a kernel used, and nobody needs once that part is gone: variables, then parameters.

Where an expression is replaced by something that reads no names, its definitions stay behind, and often the replacement
alone is longer than what it replaces: only together are they a step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst

from shrinkray_gpu.passes.calls import Function, all_parameters, functions, matches, open_ended
from shrinkray_gpu.passes.scoping import Binding, bindings
from shrinkray_gpu.passes.tree import ancestors, function, once, statement, weight
from shrinkray_gpu.reduction.edit import Change, Remove
from shrinkray_gpu.reduction.program import Program


def orphans(program: Program, gone: Iterable[cst.CSTNode], *, kept: Sequence[cst.CSTNode] = ()) -> list[Remove]:
    """What goes with these nodes of one kernel: assignments, parameters with their arguments. `kept`: parts of `gone`
    that stay after all."""
    roots = set(gone)
    kernel = function(program, next(iter(roots)))
    if kernel is None:
        return []
    own = _variables(program).get(kernel, ())
    losses: list[Remove] = []
    left = list(own)
    while True:
        dead = [binding for binding in left if _dies(program, binding, roots, kept)]
        if not dead:
            return losses
        for binding in dead:
            left.remove(binding)
            removed = _parameter(program, kernel, binding) if isinstance(binding.places[0], cst.Param) else [
                statement(program, place) for place in binding.places]  # fmt: skip
            losses += [Remove(node) for node in removed]
            roots.update(removed)


def weights(program: Program, changes: Iterable[Change]) -> int:
    """About how many tokens these removals take away."""
    return sum(weight(program, change.node) for change in changes if isinstance(change, Remove))


@once
def _variables(program: Program) -> dict[cst.FunctionDef, list[Binding]]:
    """The variables of each function, parameters among them."""
    found: dict[cst.FunctionDef, list[Binding]] = {}
    for binding in bindings(program):
        place = binding.places[0]
        up = program.parents[program.parents[place]] if isinstance(place, cst.Param) else function(program, place)
        if isinstance(up, cst.FunctionDef):
            found.setdefault(up, []).append(binding)
    return found


def _dies(program: Program, binding: Binding, gone: set[cst.CSTNode], kept: Sequence[cst.CSTNode]) -> bool:
    if binding.declared or not binding.reads:
        return False
    makers: set[cst.CSTNode] = set()
    for place in binding.places:
        if isinstance(place, cst.Param):
            continue
        made = statement(program, place)
        if isinstance(made, cst.Assign) and len(made.targets) == 1 and made.targets[0].target is place:
            makers.add(made)
        elif isinstance(made, (cst.AugAssign, cst.AnnAssign)) and made.target is place:
            makers.add(made)
        else:
            return False
    if makers and isinstance(binding.places[0], cst.Param):
        return False
    inside = False
    for read in binding.reads:
        around = {read, *ancestors(program, read)}
        if not around.isdisjoint(kept) or around.isdisjoint(gone) and around.isdisjoint(makers):
            return False
        inside = inside or not around.isdisjoint(gone)
    return inside


def _parameter(program: Program, kernel: cst.FunctionDef, binding: Binding) -> list[cst.CSTNode]:
    """The parameter with its arguments; nothing where a call may give it in a way that is not seen."""
    param = binding.places[0]
    for each in _functions(program):
        if each.node is not kernel or not each.only_called or param not in all_parameters(kernel):
            continue
        given = [matches(call, each) for call in each.calls]
        if not any(found is None for found in given) and not any(map(open_ended, each.calls)):
            assert isinstance(param, cst.Param)
            return [param, *(found[param] for found in given if found is not None and param in found)]
    return []


@once
def _functions(program: Program) -> list[Function]:
    return functions(program, bindings(program))
