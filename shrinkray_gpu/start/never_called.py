"""Functions of a program that nothing runs, since nothing names them. What they would do decides nothing.

A framework runs functions that no call names. So what may be such a one is left out: what is decorated, tests and what
prepares them, methods of a class with a base or a metaclass. So is what launches or compiles: a launch was seen.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

_BY_OTHERS = re.compile(r"__.*__$|test|setup|setUp|teardown|tearDown|pytest_")
_LOOK_UP = frozenset({"getattr", "globals", "locals", "vars", "eval", "exec", "__dict__", "methodcaller"})
"""By which a function may be found without its name."""


def never_called(tree: ast.Module) -> set[ast.AST]:
    """The functions and methods whose name stands nowhere but in themselves and in one another; none where a name may
    be put together."""
    found: set[ast.AST] = set()
    named = set(_names(tree, found))
    while _LOOK_UP.isdisjoint(named):
        more = {each for each in _candidates(tree) if each.name not in _names(tree, {*found, each})}
        if more == found:
            return found
        found |= more
        named = set(_names(tree, found))
    return set()


def _candidates(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    classes = (each for each in ast.walk(tree) if isinstance(each, ast.ClassDef) and _is_plain(each))
    for body in (tree.body, *(each.body for each in classes)):
        for each in body:
            if not isinstance(each, ast.FunctionDef) or each.decorator_list or _BY_OTHERS.match(each.name):
                continue
            if not any(map(_launches, ast.walk(each))):
                yield each


def _launches(node: ast.AST) -> bool:
    called = node.func if isinstance(node, ast.Call) else None
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    return isinstance(called, ast.Subscript) or name in ("warmup", "compile", "ASTSource")


def _is_plain(node: ast.ClassDef) -> bool:
    """Whether nobody but the program runs its methods."""
    bases = [each.id if isinstance(each, ast.Name) else "" for each in node.bases]
    return all(base == "object" for base in bases) and not node.keywords and not node.name.startswith("Test")


def _names(node: ast.AST, without: Collection[ast.AST]) -> Iterator[str]:
    """Each mention but those in some functions: a name, an attribute, a word in a string that is no docstring."""
    if node in without:
        return
    if isinstance(node, (ast.Name, ast.Attribute)):
        yield node.id if isinstance(node, ast.Name) else node.attr
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from re.findall(r"\w+", node.value)
    for each in ast.iter_child_nodes(node):
        if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)):
            yield from _names(each, without)
