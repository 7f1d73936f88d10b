"""Edits that could make a candidate delete, overwrite or start something it did not before are never offered.

Deleting `name = ...` before `rmtree(join(root, name))` is a real accident: an older value of `name`, or an empty one,
turns a harmless clean-up into the loss of a folder. So the arguments of such calls stay as they are, with all that
flows into them, until the call itself is gone; and a call that stood under a condition is not freed from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from shrinkray_gpu.passes.hazards import is_hazard
from shrinkray_gpu.passes.scoping import binding_statement, bindings, readers
from shrinkray_gpu.passes.tree import ancestors, every, holds, within
from shrinkray_gpu.reduction.edit import Edit, Insert, Remove, Replace, Unwrap
from shrinkray_gpu.reduction.program import Program


def harmless(program: Program, edits: Iterable[Edit]) -> Iterator[Edit]:
    """Those of the edits that leave the dangerous calls of the program alone, or take them away whole."""
    calls = [call for call in every(program, cst.Call) if is_hazard(call)]
    if not calls:
        yield from edits
        return
    feeders = {call: _feeders(program, call) for call in calls}
    for edit in edits:
        if all(_leaves_alone(program, edit, call, feeders[call]) for call in calls):
            yield edit


def _feeders(program: Program, call: cst.Call) -> list[cst.CSTNode]:
    """The statements from which the call's arguments (and `self`, in `path.unlink()`) come, however far back."""
    everything = bindings(program)
    stands_for = readers(program, everything)
    found: list[cst.CSTNode] = []
    todo = [name for name in within(program, call, cst.Name) if name in stands_for]
    seen = set()
    while todo:
        binding = stands_for[todo.pop()]
        if binding in seen:
            continue
        seen.add(binding)
        for place in binding.places:
            if isinstance(place, (cst.FunctionDef, cst.ClassDef, cst.ImportAlias)):
                continue
            source = binding_statement(program, place) if not isinstance(place, cst.Param) else place
            found.append(source)
            todo.extend(name for name in within(program, source, cst.Name) if name in stands_for)
    return found


def _leaves_alone(program: Program, edit: Edit, call: cst.Call, feeders: list[cst.CSTNode]) -> bool:
    if any(isinstance(change, Remove) and _takes(program, change.node, call) for change in edit.changes):
        return True
    for change in edit.changes:
        if isinstance(change, Insert):
            continue
        node = change.node
        if node is not call and holds(program, call, node):
            return False
        if any(holds(program, feeder, node) for feeder in feeders):
            return False
        if isinstance(change, (Remove, Replace)) and any(holds(program, node, feeder) for feeder in feeders):
            return False
        if isinstance(change, Replace) and holds(program, node, call):
            return False
        if isinstance(change, Unwrap) and holds(program, node, call):
            if isinstance(node, (cst.If, cst.While, cst.For, cst.Try, cst.TryStar, cst.Match)):
                return False
    return True


def _takes(program: Program, node: cst.CSTNode, call: cst.Call) -> bool:
    """Whether removing the node removes the call with it, as a statement or more."""
    if not isinstance(node, (cst.BaseSmallStatement, cst.BaseCompoundStatement, cst.SimpleStatementLine)):
        return False
    return any(above is node for above in ancestors(program, call))
