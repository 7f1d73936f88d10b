"""What a worker can do once for all candidates: the imports on top of the script, and the environment before them."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from shrinkray_gpu.language.statement_starts import cached, parts

Found: TypeAlias = "tuple[str, ...] | dict[str, str]"
"""The modules that a statement imports, or the settings that it makes."""
FIRST = sys.stdlib_module_names | {"torch", "triton", "numpy"}


@dataclass(frozen=True)
class Preamble:
    """`imports` in order; `environment` as the script leaves it for the modules it imports after."""

    imports: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()


def read(source: str) -> Preamble:
    """Read the preamble of a script that parses; an empty one of a script that does not."""
    found = _all_of(source)
    last = max((at for at, each in enumerate(found) if isinstance(each, tuple)), default=-1)
    imports: dict[str, None] = {}
    environment: dict[str, str] = {}
    for each in found[: last + 1]:
        if isinstance(each, tuple):
            imports.update(dict.fromkeys(each))
        else:
            environment.update(each)
    return Preamble(tuple(imports), tuple(sorted(environment.items())))


def first_imports(source: str) -> tuple[str, ...]:
    """What a script imports before it does anything else, up to the first module that is no library of Python's, nor
    torch, Triton or what these import themselves."""
    found: list[str] = []
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    for statement in body:
        match statement:
            case ast.Expr(value=ast.Constant()):
                names = []
            case ast.Import(names=aliases):
                names = [alias.name for alias in aliases]
            case ast.ImportFrom(module=str(module), level=0):
                names = [module]
            case _:
                break
        if any(name.partition(".")[0] not in FIRST for name in names):
            break
        found += names
    return tuple(found)


def _all_of(source: str) -> list[Found]:
    found: list[Found] = []
    for part in parts(source):
        known = _in_part(part)
        if known is None:
            return [*(_in_part(source) or ())]
        found += known
    return found


@cached
def _in_part(part: str) -> tuple[Found, ...] | None:
    """What the statements of this text import and set, in order; None if it does not parse."""
    try:
        tree = ast.parse(part)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found: list[Found] = []
    for statement in _top_level(tree.body):
        if isinstance(statement, ast.Import):
            found.append(tuple(alias.name for alias in statement.names))
        elif isinstance(statement, ast.ImportFrom):
            found.append((statement.module,) if statement.module and not statement.level else ())
        elif settings := _settings(statement):
            found.append(settings)
    return tuple(found)


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, ast.Try):
            yield from _top_level(statement.body)
        elif isinstance(statement, ast.If):
            if not _is_main_guard(statement.test):
                yield from _top_level(statement.body)
        else:
            yield statement


def _is_main_guard(test: ast.expr) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "__name__" for node in ast.walk(test))


def _settings(statement: ast.stmt) -> dict[str, str]:
    """`os.environ["K"] = "v"`, `os.environ.setdefault("K", "v")`, `os.environ.update(K="v")` with literal values."""
    match statement:
        case ast.Assign(
            targets=[ast.Subscript(value=holder, slice=ast.Constant(value=str(key)))],
            value=ast.Constant(value=str(value)),
        ) if _is_environ(holder):
            return {key: value}
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=holder, attr="setdefault"),
                args=[ast.Constant(value=str(key)), ast.Constant(value=str(value))],
            )
        ) if _is_environ(holder):
            return {key: value}
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=holder, attr="update"), args=args, keywords=keywords)
        ) if _is_environ(holder):
            pairs: list[tuple[object, ast.expr]] = [(keyword.arg, keyword.value) for keyword in keywords]
            for table in args:
                if isinstance(table, ast.Dict):
                    names = [name.value if isinstance(name, ast.Constant) else None for name in table.keys]
                    pairs += zip(names, table.values)
            return {
                name: given.value
                for name, given in pairs
                if isinstance(name, str) and isinstance(given, ast.Constant) and isinstance(given.value, str)
            }
    return {}


def _is_environ(node: ast.expr) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == "environ") or (
        isinstance(node, ast.Name) and node.id == "environ"
    )
