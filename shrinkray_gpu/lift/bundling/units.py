"""A module that is to be merged, and the questions about its names that the other files ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import libcst as cst
from libcst.metadata import ClassScope, ExpressionContext, GlobalScope, Scope

from shrinkray_gpu.lift.bundling.imports import Import, Statement, imports_of
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.scopes import context_of
from shrinkray_gpu.source.scoping import Binding, bindings
from shrinkray_gpu.source.tree import ancestors, dotted_text, every

REFLECTION = frozenset({"globals", "locals", "vars", "eval", "exec"})
"""Called without an object, these see the names of globals as strings."""


@dataclass(eq=False)
class Unit:
    """A module as it runs on import. The script itself has the name `__main__`."""

    name: str
    path: Path | None
    shown: str
    package: bool
    program: Program
    futures: frozenset[str] = frozenset()
    docstring: str | None = None

    @property
    def main(self) -> bool:
        return self.name == "__main__"

    @property
    def last(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def package_name(self) -> str:
        """The name that relative imports start from: that of a script is no part of any package."""
        return "" if self.main else self.name

    @cached_property
    def bindings(self) -> list[Binding]:
        return bindings(self.program)

    @cached_property
    def globals(self) -> Mapping[str, Binding]:
        return {each.name: each for each in self.bindings if isinstance(each.scope, GlobalScope)}

    @cached_property
    def imports(self) -> Mapping[Statement, tuple[Import, ...]]:
        """What each import statement brings, in the order of the text."""
        statements: list[Statement] = every(self.program, cst.Import, cst.ImportFrom)
        return {each: tuple(imports_of(each, self.package_name, self.package)) for each in statements}

    @cached_property
    def imports_by_alias(self) -> Mapping[cst.CSTNode, Import]:
        """The Import of each alias node."""
        return {each.alias: each for found in self.imports.values() for each in found}

    @cached_property
    def free_nodes(self) -> list[cst.Name]:
        """Where names are read that nothing here binds: builtins, and what nobody knows."""
        known = {id(name) for each in self.bindings for name in (*each.reads, *each.declared, *each.names)}
        layout = self.program.layout
        return [
            name
            for name in every(self.program, cst.Name)
            if id(name) not in known
            and context_of(layout, name) is ExpressionContext.LOAD
            and not self._no_variable(name)
        ]

    @cached_property
    def free(self) -> frozenset[str]:
        return frozenset(name.value for name in self.free_nodes)

    def _no_variable(self, name: cst.Name) -> bool:
        parent = self.program.parents[name]
        if isinstance(parent, cst.Attribute) and parent.attr is name:
            return True
        if isinstance(parent, cst.Arg) and parent.keyword is name:
            return True
        return any(isinstance(above, (cst.Import, cst.ImportFrom)) for above in ancestors(self.program, name))

    @cached_property
    def reflects(self) -> bool:
        """Whether it may find its globals by their names."""
        calls = every(self.program, cst.Call)
        return any(
            isinstance(call.func, cst.Name)
            and call.func.value in REFLECTION & self.free
            and (not call.args or call.func.value in ("eval", "exec"))
            for call in calls
        )

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(name.value for name in every(self.program, cst.Name))

    def scope(self, node: cst.CSTNode) -> Scope | None:
        """The scope that names at this node are looked up in."""
        found: Scope | None = self.program.scopes.get(node)
        for above in ancestors(self.program, node):
            if found is not None:
                return found
            found = self.program.scopes.get(above)
        return found

    def around(self, node: cst.CSTNode) -> list[Scope]:
        """The scopes, innermost first and without that of the module, whose variables hide a global at this node."""
        scope: Scope | None = self.scope(node)
        found: list[Scope] = []
        while scope is not None and not isinstance(scope, GlobalScope) and scope.parent is not scope:
            if not found or not isinstance(scope, ClassScope):
                found.append(scope)
            scope = scope.parent
        return found


def is_main_guard(test: cst.BaseExpression) -> bool:
    """`__name__ == "__main__"`, alone or with more conditions: false in every imported module."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        return is_main_guard(test.left) or is_main_guard(test.right)
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return False
    [comparison] = test.comparisons
    sides = [test.left, comparison.comparator]
    named = any(dotted_text(side) == "__name__" for side in sides)
    main = any(isinstance(side, cst.SimpleString) and side.evaluated_value == "__main__" for side in sides)
    return named and main and isinstance(comparison.operator, cst.Equal)


def is_typing_guard(test: cst.BaseExpression) -> bool:
    """`if TYPE_CHECKING:`, false whenever something runs."""
    return dotted_text(test).rpartition(".")[2] == "TYPE_CHECKING"
