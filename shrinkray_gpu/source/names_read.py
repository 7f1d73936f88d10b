"""Whose name is this: the questions about names that must be answered before code moves from one scope into another.

libcst's ScopeProvider knows the scopes; what moving code needs on top of it is the owner of each *occurrence* of a
name, all occurrences of one variable, and which names may change behind one's back (`global`, `nonlocal`, attributes
that are stored somewhere).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import libcst as cst
from libcst.metadata import BuiltinScope, GlobalScope, Scope

from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.tree import dotted_text

REFLECTION = frozenset("locals vars eval exec super __class__ globals dir".split())
"""A body that mentions one of these reads its own scope, so it cannot move into another."""


class Names:
    """Answers about the names of one Program, each computed once."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.module = program.module
        self.scopes = program.scopes
        self.parents = program.parents
        self.spans = program.spans

    @cached_property
    def variables_of_module(self) -> list[cst.Name]:
        return self.variables(self.module)

    def variables(self, node: cst.CSTNode) -> list[cst.Name]:
        """The Name nodes under `node` that stand for variables: no attribute, no keyword of a call, no import."""
        return [each for each in self.walk(node) if isinstance(each, cst.Name) and each in self.scopes]

    def scope(self, node: cst.CSTNode) -> Scope:
        """The scope that the node's own names are looked up in."""
        scope = self.scopes[node]
        assert isinstance(scope, Scope)
        return scope

    @cached_property
    def words(self) -> dict[Scope, frozenset[str]]:
        """The variables that each scope mentions, its own and those of others."""
        found: dict[Scope, set[str]] = defaultdict(set)
        for name in self.variables_of_module:
            found[self.scope(name)].add(name.value)
        return {scope: frozenset(names) for scope, names in found.items()}

    @cached_property
    def everywhere(self) -> Scope:
        return next((self.scope(name).globals for name in self.variables_of_module), GlobalScope())

    def owner(self, scope: Scope, name: str) -> Scope:
        """The scope whose variable `name` is, seen from `scope`. An unknown name is taken for a global one."""
        return next((found.scope for found in scope[name]), scope.globals)

    @cached_property
    def occurrences(self) -> dict[tuple[Scope, str], list[cst.Name]]:
        """All Name nodes of each variable, stores and loads, in the order of the text."""
        found: dict[tuple[Scope, str], list[cst.Name]] = defaultdict(list)
        for name in self.variables_of_module:
            found[self.variable(name)].append(name)
        return found

    def variable(self, name: cst.Name) -> tuple[Scope, str]:
        """The variable that a Name stands for: the scope that has it, and what it is called there."""
        return self.owner(self.scope(name), name.value), name.value

    def mentions(self, name: cst.Name) -> list[cst.Name]:
        """All mentions of the variable that a Name stands for."""
        return self.occurrences.get(self.variable(name), [])

    def bindings(self, scope: Scope, name: str) -> list[cst.CSTNode]:
        """What binds the variable: definitions, assignment targets (as Name nodes), parameters, imports."""
        return [getattr(found, "node", self.module) for found in scope.assignments if found.name == name]

    @cached_property
    def identifiers(self) -> frozenset[str]:
        """Every word of the program. A fresh name is none of them."""
        return frozenset(each.value for each in self.nodes if isinstance(each, cst.Name))

    @cached_property
    def imported_names(self) -> frozenset[str]:
        bound = (found for scope in set(self.scopes.values()) if scope is not None for found in scope.assignments)
        return frozenset(
            found.name for found in bound if isinstance(getattr(found, "node", None), cst.Import | cst.ImportFrom)
        )

    @cached_property
    def rebindable(self) -> frozenset[str]:
        """Names that a call may bind anew, since some function declares them `global` or `nonlocal`."""
        declared = (each for each in self.nodes if isinstance(each, cst.Global | cst.Nonlocal))
        return frozenset(item.name.value for each in declared for item in each.names)

    @cached_property
    def nodes(self) -> list[cst.CSTNode]:
        children = self.program.layout.children
        found: list[cst.CSTNode] = []
        stack: list[cst.CSTNode] = [self.module]
        while stack:
            found.append(here := stack.pop())
            stack.extend(reversed(children[here]))
        return found

    @cached_property
    def _last(self) -> dict[cst.CSTNode, tuple[int, int]]:
        """Where a node and all below it stand in `nodes`."""
        ends = {node: index for index, node in enumerate(self.nodes)}
        begins = dict(ends)
        for node in reversed(self.nodes[1:]):
            above = self.parents[node]
            ends[above] = max(ends[above], ends[node])
        return {node: (begins[node], ends[node] + 1) for node in self.nodes}

    def walk(self, node: cst.CSTNode) -> Sequence[cst.CSTNode]:
        """The node and all below it, in the order of the text (libcst's own `children` is slow)."""
        if (span := self._last.get(node)) is not None:
            return self.nodes[slice(*span)]
        return [node, *(each for below in node.children for each in self.walk(below))]

    @cached_property
    def classes(self) -> list[cst.ClassDef]:
        return [each for each in self.nodes if isinstance(each, cst.ClassDef)]

    @cached_property
    def attributes(self) -> dict[str, list[cst.Attribute]]:
        """All `something.name` by name."""
        found: dict[str, list[cst.Attribute]] = defaultdict(list)
        for node in self.nodes:
            if isinstance(node, cst.Attribute):
                found[node.attr.value].append(node)
        return found

    @cached_property
    def assigned_attributes(self) -> frozenset[str]:
        """Attributes that some statement stores or deletes; all of them, if one does so by a computed name."""
        calls = (each for each in self.nodes if isinstance(each, cst.Call))
        if any(dotted_text(each.func).split(".")[-1] in ("setattr", "delattr", "__setattr__") for each in calls):
            return frozenset(self.attributes)
        return frozenset(
            name for name, found in self.attributes.items() if any(is_target(each, self.parents) for each in found)
        )

    def means(self, name: cst.Name, definition: cst.FunctionDef | cst.ClassDef) -> bool:
        """Whether the name, where it stands, is that of the definition."""
        if name.value != definition.name.value or name not in self.scopes:
            return False
        return self.owner(self.scope(name), name.value) is self.scope(definition.name)

    @cached_property
    def stored_attributes(self) -> frozenset[str]:
        """Attributes that are assigned or deleted outside an `__init__`, or computed by a method of that name."""
        computed = {each.name.value for each in self.nodes if isinstance(each, cst.FunctionDef)}
        late = {
            name
            for name in self.assigned_attributes
            if not all(self.in_init(each) for each in self.attributes[name] if is_target(each, self.parents))
        }
        return frozenset(computed | late)

    def in_init(self, node: cst.CSTNode) -> bool:
        function = self.function_around(node)
        return isinstance(function, cst.FunctionDef) and function.name.value == "__init__"

    def names_in_use(self, target: Scope) -> frozenset[str]:
        """Names that code moved into `target` must not bind."""
        if isinstance(target, GlobalScope):
            there = {name for (owner, name) in self.occurrences if isinstance(owner, GlobalScope | BuiltinScope)}
        else:
            node = getattr(target, "node", self.module)
            there = {name.value for name in self.variables(node)}
            there |= {found.name for found in target.assignments}
        return frozenset(there | self.imported_names | self.rebindable)

    def function_around(self, node: cst.CSTNode) -> cst.FunctionDef | cst.Lambda | cst.Module:
        """The function whose body (or header) the node stands in, or the module."""
        functions = (above for above in self.around(node) if isinstance(above, cst.FunctionDef | cst.Lambda))
        return next(functions, self.module)

    def around(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes around a node, innermost first."""
        return self.program.layout.above(node)

    def in_text(self, node: cst.CSTNode) -> bool:
        """Whether the node stands in an f-string."""
        return any(isinstance(above, cst.FormattedString) for above in self.around(node))

    def own_line(self, node: cst.CSTNode) -> cst.SimpleStatementLine | None:
        """The line of a small statement that is alone on it."""
        line = self.parents[node]
        return line if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None

    def in_loop(self, node: cst.CSTNode) -> bool:
        """Whether the node may run again in the same scope."""
        for outer in self.around(node):
            if isinstance(outer, cst.FunctionDef | cst.Lambda):
                return False
            if isinstance(outer, cst.For | cst.While | cst.CompFor | cst.BaseComp):
                return True
        return False


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The node and all below it, in the order of the text."""
    stack = [node]
    while stack:
        here = stack.pop()
        yield here
        stack.extend(reversed(here.children))


def own(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Like `walk`, but not into the bodies of functions and classes defined inside."""
    stack = [node]
    while stack:
        here = stack.pop()
        yield here
        if here is node or not isinstance(here, cst.FunctionDef | cst.Lambda | cst.ClassDef):
            stack.extend(reversed(here.children))


def is_target(node: cst.CSTNode, parents: Mapping[cst.CSTNode, cst.CSTNode]) -> bool:
    """Whether the expression is stored to or deleted, also as a part of a tuple on the left."""
    above = parents[node]
    while isinstance(above, cst.Element | cst.StarredElement | cst.Tuple | cst.List):
        node, above = above, parents[above]
    match above:
        case cst.AssignTarget() | cst.Del() | cst.AsName():
            return True
        case cst.AugAssign() | cst.AnnAssign() | cst.For() | cst.CompFor() | cst.NamedExpr():
            return above.target is node
    return False
