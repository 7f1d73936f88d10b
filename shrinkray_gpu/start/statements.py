"""What Python's syntax says of a function, a call or a statement: names, parameters, what gets a value."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TypeGuard, TypeVar

_Node = TypeVar("_Node", bound=ast.AST)


def names(node: ast.AST) -> Iterator[str]:
    """Names and attributes in an expression, that of the whole first."""
    for each in ast.walk(node):
        if isinstance(each, (ast.Name, ast.Attribute)):
            yield each.id if isinstance(each, ast.Name) else each.attr


def is_kernel(node: ast.AST) -> TypeGuard[ast.FunctionDef]:
    return isinstance(node, ast.FunctionDef) and any("jit" in ast.unparse(each) for each in node.decorator_list)


def parameters(function: ast.FunctionDef) -> list[str]:
    """By position, then the others."""
    given = function.args
    every = (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg)
    return [each.arg for each in every if each]


def with_default(function: ast.FunctionDef) -> list[str]:
    given = function.args
    places = (*given.posonlyargs, *given.args)
    named = [each.arg for each, value in zip(given.kwonlyargs, given.kw_defaults) if value is not None]
    return [*(each.arg for each in places[len(places) - len(given.defaults) :]), *named]


def by_name(call: ast.Call, parameters: Sequence[str]) -> Iterator[tuple[str, ast.expr]]:
    """A call's arguments, each with the parameter that it fills, as far as that is plain."""
    for name, value in zip(parameters, call.args):
        if isinstance(value, ast.Starred):
            break
        yield name, value
    for each in call.keywords:
        if each.arg is not None and each.arg in parameters:
            yield each.arg, each.value


def targets(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, (ast.Assign, ast.Delete)):
        return list(statement.targets)
    if isinstance(statement, (ast.AugAssign, ast.AnnAssign, ast.For)):
        return [statement.target]
    if isinstance(statement, ast.With):
        return [each.optional_vars for each in statement.items if each.optional_vars]
    return [each.target for each in within(statement, ast.NamedExpr)]


def assigned(target: ast.expr) -> Iterator[str]:
    """The variables among what an assignment gives a value to."""
    if isinstance(target, (ast.Tuple, ast.List)):
        for each in target.elts:
            yield from assigned(each)
    elif isinstance(target, ast.Starred):
        yield from assigned(target.value)
    elif isinstance(target, ast.Name):
        yield target.id


def within(statement: ast.stmt, kind: type[_Node] | tuple[type[_Node], ...]) -> Iterator[_Node]:
    """What a statement's own expressions hold of a kind."""
    return (each for part in own_parts(statement) for each in ast.walk(part) if isinstance(each, kind))


def own_parts(statement: ast.stmt) -> Iterator[ast.expr]:
    """A statement's expressions, without those of the statements in it."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return
    for each in ast.iter_child_nodes(statement):
        if isinstance(each, ast.withitem):
            yield each.context_expr
        elif isinstance(each, ast.expr) and not (isinstance(statement, ast.AnnAssign) and each is statement.annotation):
            yield each
