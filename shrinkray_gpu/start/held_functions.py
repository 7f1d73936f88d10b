"""Which functions a variable of a program may hold: a kernel out of a table, what `partial` makes, an argument.

Each value of a container may be any of it, and an attribute is one name wherever it is read. So it tells rather too
much than too little. Not seen is what goes through `setattr`, a module, or another file.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from typing import Protocol, TypeAlias

Scope: TypeAlias = ast.FunctionDef | None
"""The function that a statement stands in; None for the module."""
Key: TypeAlias = tuple[Scope | str, str]
"""A name of a scope; an attribute, whosever it is, is of ATTRIBUTE."""
ATTRIBUTE = "."
_RESULT = "()"
"""In the place of the scope: what a function of this name returns."""
_ROUNDS = 20
"""Through so many variables a function is followed."""
_NO_VALUE = (ast.Compare, ast.Constant, ast.JoinedStr)
_INTO = frozenset({"append", "appendleft", "add", "extend", "insert", "update", "setdefault"})
"""Methods that put their arguments into a container."""


class NamesAndCalls(Protocol):
    """Of `host_code.HostCode`, what this needs."""

    scope: dict[ast.stmt, Scope]
    functions: dict[str, list[ast.FunctionDef]]
    kernels: dict[str, ast.FunctionDef]
    calls: list[tuple[ast.stmt, ast.Call]]

    def taken(self, function: ast.FunctionDef) -> list[str]: ...
    def resolved(self, name: str, scope: Scope) -> Key: ...
    def bound(self, target: ast.expr, scope: Scope) -> Iterator[Key]: ...
    def is_method(self, function: ast.FunctionDef) -> bool: ...


class HeldFunctions:
    """Of one program."""

    def __init__(self, code: NamesAndCalls) -> None:
        self._code = code
        self._held: dict[Key, set[str]] = defaultdict(set)
        flows = [flow for statement in code.scope for flow in self._flows(statement)]
        calls = [(call, code.scope[statement]) for statement, call in code.calls]
        for _ in range(_ROUNDS):
            before = sum(map(len, self._held.values()))
            for key, value, scope in flows:
                self._held[key] |= self.of(value, scope)
            for call, scope in calls:
                self._pass(call, scope)
            if sum(map(len, self._held.values())) == before:
                break

    def of(self, node: ast.AST, scope: Scope) -> set[str]:
        """The names of the functions, kernels among them, that an expression may be, or may run when it is called."""
        code = self._code
        if isinstance(node, ast.Name):
            key = code.resolved(node.id, scope)
            own = {node.id} if key[0] is None and (self._plain(node.id) or node.id in code.kernels) else set()
            return own | self._held.get(key, set())
        if isinstance(node, ast.Attribute):
            own = {node.attr} if any(map(code.is_method, code.functions.get(node.attr, ()))) else set()
            return own | self._held.get((ATTRIBUTE, node.attr), set())
        if isinstance(node, ast.Call):
            if called := self.of(node.func, scope):
                return {name for each in called for name in self._held.get((_RESULT, each), ())}
            given = [*node.args, *(each.value for each in node.keywords)]
            owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
            return {name for each in (*owner, *given) for name in self.of(each, scope)}
        if isinstance(node, ast.Subscript):
            return self.of(node.value, scope)
        if isinstance(node, _NO_VALUE):
            return set()
        if isinstance(node, ast.Lambda):
            named = (each for each in ast.walk(node.body) if isinstance(each, (ast.Name, ast.Attribute)))
            return {name for each in named for name in self.of(each, scope)}
        return {name for each in ast.iter_child_nodes(node) for name in self.of(each, scope)}

    def _plain(self, name: str) -> bool:
        """Whether a function is called so that is no method."""
        return any(not self._code.is_method(each) for each in self._code.functions.get(name, ()))

    def _pass(self, call: ast.Call, scope: Scope) -> None:
        """What is called by its name has its arguments in order, and so has what `partial` gets; of what is called by
        way of a variable any argument may be any parameter."""
        code = self._code
        given = [*call.args, *(each.value for each in call.keywords)]
        if not any(self.of(each, scope) for each in given):
            return
        name = getattr(call.func, "id", getattr(call.func, "attr", ""))
        if name in code.functions:
            for function in code.functions[name]:
                self._fill(function, call.args, call.keywords, scope)
        elif called := self.of(call.func, scope):
            for function in (each for held in called for each in code.functions.get(held, ())):
                for parameter in code.taken(function):
                    for value in given:
                        self._held[function, parameter] |= self.of(value, scope)
        elif call.args:
            for held in [*self.of(call.args[0], scope)]:
                for function in code.functions.get(held, ()):
                    self._fill(function, call.args[1:], call.keywords, scope)
        if isinstance(call.func, ast.Attribute) and call.func.attr in _INTO:
            for key in code.bound(call.func.value, scope):
                for value in given:
                    self._held[key] |= self.of(value, scope)

    def _fill(self, function: ast.FunctionDef, args: list[ast.expr], named: list[ast.keyword], scope: Scope) -> None:
        taken, rest = self._code.taken(function), function.args.vararg
        for place, value in enumerate(args):
            parameter = taken[place] if place < len(taken) else rest.arg if rest is not None else ""
            self._held[function, parameter] |= self.of(value, scope)
        for each in named:
            self._held[function, each.arg or ""] |= self.of(each.value, scope)

    def _flows(self, statement: ast.stmt) -> Iterator[tuple[Key, ast.expr, Scope]]:
        """The names that get a value by this statement, and that."""
        code, scope = self._code, self._code.scope[statement]
        pairs: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(statement, ast.Assign):
            pairs = [(target, statement.value) for target in statement.targets]
        elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)) and statement.value is not None:
            pairs = [(statement.target, statement.value)]
        elif isinstance(statement, ast.For):
            pairs = [(statement.target, statement.iter)]
        elif isinstance(statement, ast.With):
            pairs = [(each.optional_vars, each.context_expr) for each in statement.items if each.optional_vars]
        elif isinstance(statement, ast.FunctionDef):
            head = statement.args
            told = [*zip(reversed([*head.posonlyargs, *head.args]), reversed(head.defaults))]
            told += [(each, value) for each, value in zip(head.kwonlyargs, head.kw_defaults) if value]
            yield from (((statement, each.arg), value, scope) for each, value in told)
        if isinstance(statement, ast.Return) and statement.value is not None and scope is not None:
            yield (_RESULT, scope.name), statement.value, scope
        if not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            inner = [each for part in ast.iter_child_nodes(statement) for each in _within(part)]
            pairs += [(each.target, each.iter) for each in inner if isinstance(each, ast.comprehension)]
            pairs += [(each.target, each.value) for each in inner if isinstance(each, ast.NamedExpr)]
            values = [each.value for each in inner if isinstance(each, (ast.Yield, ast.YieldFrom)) and each.value]
            yield from (((_RESULT, scope.name), value, scope) for value in values if scope is not None)
        yield from ((key, value, scope) for target, value in pairs for key in code.bound(target, scope))


def _within(node: ast.AST) -> Iterator[ast.AST]:
    """An expression and all that is in it; of a statement nothing."""
    return () if isinstance(node, ast.stmt) else ast.walk(node)  # type: ignore[return-value]
