"""What of a module does nothing when it is imported: that need not come along."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst

from shrinkray_gpu.lift.bundling.units import is_main_guard, is_typing_guard
from shrinkray_gpu.reduction.edit import Change, Edit, Remove, Unwrap
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import render
from shrinkray_gpu.source.tree import docstring, dotted_text, every, statement, statements


def prune(program: Program, *, main: bool) -> Program:
    """The module without docstring, `__all__`, `from __future__` and what is for its own run as a script or for type
    checkers. Of the script itself only the last goes."""
    changes = list(_guards(program, main))
    if not main:
        first = docstring(program.module)
        changes += [Remove(first)] if first is not None else []
        changes += _listing(program)
        changes += [Remove(each) for each in every(program, cst.ImportFrom) if dotted_text(each.module) == "__future__"]
    return render(program, [Edit("prune", (change,)) for change in changes])


def _guards(program: Program, main: bool) -> Iterator[Change]:
    for each in every(program, cst.If):
        if not (is_typing_guard(each.test) or (not main and is_main_guard(each.test))):
            continue
        if isinstance(program.parents[each], cst.If):
            yield Remove(each)
        elif isinstance(each.orelse, cst.Else):
            yield Unwrap(each, (each.orelse.body,))
        elif each.orelse is None:
            yield Remove(each)
        else:
            yield Remove(each.body)


def _listing(program: Program) -> list[Change]:
    """`__all__ = ...` and what is added to it, if nothing else reads it."""
    names = [name for name in every(program, cst.Name) if name.value == "__all__"]
    found = []
    for name in names:
        parent = program.parents[name]
        own = statement(program, name)
        stored = isinstance(parent, (cst.AssignTarget, cst.AugAssign, cst.AnnAssign))
        called = isinstance(parent, cst.Attribute) and isinstance(own, cst.Expr)
        if not (stored or called) or own not in statements(program.module):
            return []
        found.append(Remove(own))
    return list(found)


def public(text: str) -> tuple[str, ...] | None:
    """The names in `__all__`; None if there is none, or it is not a plain list."""
    found: list[str] | None = None
    for each in ast.parse(text).body:
        targets: list[ast.expr | None] = (
            [*each.targets] if isinstance(each, ast.Assign) else [getattr(each, "target", None)]
        )
        if not any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            continue
        try:
            value = ast.literal_eval(each.value)  # type: ignore[attr-defined]
        except ValueError:
            return None
        found = [*(found or []), *value] if isinstance(each, ast.AugAssign) else list(value)
    return None if found is None else tuple(found)
