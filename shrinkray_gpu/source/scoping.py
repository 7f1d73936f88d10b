"""Who binds a name and who reads it, by Python's own rule: a name belongs to the scope that assigns it anywhere.

libcst's own answer depends on the order of the text (a read above every assignment counts for the scope outside) and
takes the captures of `match` for reads; its scopes and contexts are right, so only the last step is done here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import ClassScope, ExpressionContext, Scope

from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.scopes import context_of
from shrinkray_gpu.source.tree import ancestors, every, once


@dataclass(frozen=True, eq=False)
class Binding:
    """One variable: a name in one scope."""

    name: str
    scope: Scope | None
    places: tuple[cst.CSTNode, ...]
    """What binds it: FunctionDef, ClassDef, Param, ImportAlias, or the Name that is assigned to."""
    names: tuple[cst.Name, ...]
    """The Name nodes of the places, in the same order."""
    reads: tuple[cst.Name, ...]
    declared: tuple[cst.Name, ...]
    """Its mentions in `global` and `nonlocal`."""

    @property
    def is_import(self) -> bool:
        return any(isinstance(place, cst.ImportAlias) for place in self.places)

    @property
    def is_data(self) -> bool:
        """Whether it is no function and no class of the program."""
        return not any(isinstance(place, (cst.FunctionDef, cst.ClassDef)) for place in self.places)


@once
def bindings(program: Program) -> list[Binding]:
    """All variables of the program, in the order of their first place; names that nothing binds (builtins) left out."""
    scopes = program.scopes
    stores: dict[tuple[Scope | None, str], list[tuple[cst.CSTNode, cst.Name]]] = {}
    loads: list[cst.Name] = []
    declared: list[cst.Name] = []
    for name in every(program, cst.Name):
        place = _place(program, name)
        if place is _NOTHING:
            continue
        if place is None:
            loads.append(name)
        elif isinstance(place, cst.NameItem):
            declared.append(name)
        else:
            scope = _binding_scope(program, place, name)
            if scope is not None:
                stores.setdefault((scope, name.value), []).append((place, name))
    owned = {(scope, name) for scope, name in stores}

    reads: dict[tuple[Scope | None, str], list[cst.Name]] = {}
    mentions: dict[tuple[Scope | None, str], list[cst.Name]] = {}
    for group, nodes in ((reads, loads), (mentions, declared)):
        for name in nodes:
            owner = _owner(scopes.get(name) or _scope_around(program, name), name.value, owned)
            group.setdefault((owner, name.value), []).append(name)
    return [
        Binding(
            name=key[1],
            scope=key[0],
            places=tuple(place for place, _ in found),
            names=tuple(name for _, name in found),
            reads=tuple(reads.get(key, ())),
            declared=tuple(mentions.get(key, ())),
        )
        for key, found in stores.items()
    ]


@once
def modules(program: Program) -> set[cst.Name]:
    """Where something that an import binds is read."""
    return {read for binding in bindings(program) if binding.is_import for read in binding.reads}


@once
def variables_by_read(program: Program) -> Mapping[cst.Name, Binding]:
    """Which variable a Name that is read stands for."""
    return {read: binding for binding in bindings(program) for read in binding.reads}


@once
def variables_by_place(program: Program) -> Mapping[cst.CSTNode, Binding]:
    """Which variable a function, class, parameter, import or assigned Name binds."""
    return {place: binding for binding in bindings(program) for place in binding.places}


_NOTHING = cst.Name("_")  # says: this Name is no variable at all


def _place(program: Program, name: cst.Name) -> cst.CSTNode | None:
    """The node that binds through this Name; None for a read; _NOTHING for attributes, keywords and module names."""
    parent = program.parents.get(name)
    if isinstance(parent, cst.Attribute):
        if parent.attr is name or _in_import_path(program, parent):
            first = _import_of_dotted(program, parent, name)
            return first if first is not None else _NOTHING
        return None
    if isinstance(parent, cst.Arg):
        return _NOTHING if parent.keyword is name else None
    if isinstance(parent, (cst.FunctionDef, cst.ClassDef)) and parent.name is name:
        return parent
    if isinstance(parent, cst.Param) and parent.name is name:
        return parent
    if isinstance(parent, cst.ImportAlias):
        return parent if parent.asname is None else _NOTHING
    if isinstance(parent, cst.AsName):
        above = program.parents.get(parent)
        return above if isinstance(above, cst.ImportAlias) else name
    if isinstance(parent, cst.ImportFrom):
        return _NOTHING
    if isinstance(parent, cst.NameItem):
        return parent
    if isinstance(parent, (cst.MatchAs, cst.MatchStar, cst.MatchMapping)):
        return name
    if isinstance(parent, cst.MatchKeywordElement) and parent.key is name:
        return _NOTHING
    return name if context_of(program.layout, name) is ExpressionContext.STORE else None


def _in_import_path(program: Program, attribute: cst.Attribute) -> bool:
    for above in ancestors(program, attribute):
        if isinstance(above, (cst.ImportAlias, cst.ImportFrom)):
            return True
        if not isinstance(above, cst.Attribute):
            return False
    return False


def _import_of_dotted(program: Program, attribute: cst.Attribute, name: cst.Name) -> cst.ImportAlias | None:
    """`import a.b` binds `a`: the alias, if `name` is that `a`."""
    if attribute.attr is name:
        return None
    for above in ancestors(program, attribute):
        if isinstance(above, cst.ImportAlias):
            return above if above.asname is None else None
        if not isinstance(above, cst.Attribute):
            return None
    return None


def _binding_scope(program: Program, place: cst.CSTNode, name: cst.Name) -> Scope | None:
    scopes: Mapping[cst.CSTNode, Scope | None] = program.scopes
    if isinstance(place, cst.Param):
        return scopes.get(place.name)
    scope = scopes.get(place) or scopes.get(name) or _scope_around(program, name)
    if scope is None:
        return None
    # `global x` and `nonlocal x` of a scope: libcst has no public way to ask for them
    overwrites: Mapping[str, Scope] = getattr(scope, "_scope_overwrites", {})
    return overwrites.get(name.value, scope)


def _scope_around(program: Program, node: cst.CSTNode) -> Scope | None:
    for above in ancestors(program, node):
        scope: Scope | None = program.scopes.get(above)
        if scope is not None:
            return scope
    return None


def _owner(scope: Scope | None, name: str, owned: set[tuple[Scope | None, str]]) -> Scope | None:
    inner = True
    while scope is not None:
        if (scope, name) in owned and (inner or not isinstance(scope, ClassScope)):
            return scope
        if scope.parent is scope:
            return None
        scope, inner = scope.parent, False
    return None
