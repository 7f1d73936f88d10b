"""A pytest test as plain calls: `from tests.test_x import test_y; test_y(8, "fast")`, for tests without fixtures.

Where no launch can be lifted, such a script is a better start than pytest's driver: the local modules that it imports
can be put into it, and pytest is gone. Whether it shows the fault is for a run to say.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import product

PytestFunction = ast.FunctionDef


def calls(source: str, nodes: Sequence[str], *, module: str, path: str = "") -> str | None:
    """A script that calls the tests of `module` with these node ids (none: all) without pytest; None where that cannot
    be written down. `path`: the folder that pytest would put on `sys.path`, where it is not there anyway."""
    tree = ast.parse(source)
    lines: dict[str, None] = {}
    names: dict[str, None] = {}
    needed: dict[str, None] = {}
    for node in nodes or _tests(tree):
        place, bracket, chosen = node.partition("[")
        owner, _, name = place.rpartition("::")
        test, marks = _found(tree, owner, name)
        every = None if test is None else _arguments(tree, test, marks, method=bool(owner))
        said = [
            (text, modules) for label, text, modules in every or () if not bracket or label == chosen.removesuffix("]")
        ]
        if not said:
            return None
        names[owner or name] = None
        for text, modules in said:
            needed.update(dict.fromkeys(modules))
            lines[f"{owner}().{name}({text})" if owner else f"{name}({text})"] = None
    if not lines:
        return None
    where = f"import sys\nsys.path.insert(0, {path!r})\n" if path else ""
    return f"{''.join(needed)}{where}from {module} import {', '.join(names)}\n\n" + "\n".join(lines) + "\n"


def _tests(tree: ast.Module) -> list[str]:
    return [node.name for node in tree.body if isinstance(node, PytestFunction) and node.name.startswith("test")]


def _found(tree: ast.Module, owner: str, name: str) -> tuple[PytestFunction | None, list[ast.expr]]:
    """The test, and what is written above it and its class, nearest first. No class that sets something up."""
    body, above = tree.body, []
    if owner:
        holder = next((node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == owner), None)
        if holder is None or holder.bases or any(_sets_up(node) for node in holder.body):
            return None, []
        body, above = holder.body, holder.decorator_list[::-1]
    test = next((node for node in body if isinstance(node, PytestFunction) and node.name == name), None)
    return test, [*(test.decorator_list[::-1] if test else []), *above]


def _sets_up(node: ast.stmt) -> bool:
    return isinstance(node, PytestFunction) and (node.name.startswith(("setup", "teardown")) or node.name == "__init__")


_Choice = tuple[str, dict[str, str], tuple[str, ...]]
"""One set of values: its id, the values' texts by parameter, the imports that they need."""


def _arguments(
    tree: ast.Module, test: PytestFunction, marks: Sequence[ast.expr], *, method: bool
) -> list[tuple[str, str, tuple[str, ...]]] | None:
    """Each set of arguments of a test, in pytest's order: id, text of the arguments, imports needed."""
    sets = []
    for mark in marks:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func).endswith("mark.parametrize"):
            choices = _choices(tree, mark)
            if choices is None:
                return None
            sets.append(choices)
    plain = test.args.posonlyargs + test.args.args
    asked = [a.arg for a in plain[: len(plain) - len(test.args.defaults)]][1 if method else 0 :]
    asked += [a.arg for a, default in zip(test.args.kwonlyargs, test.args.kw_defaults) if default is None]
    found = []
    for chosen in product(*sets):
        values = {name: text for _, given, _ in chosen for name, text in given.items()}
        if not set(asked) <= set(values):
            return None  # a fixture
        text = ", ".join(f"{name}={value}" for name, value in values.items())
        found.append(("-".join(label for label, *_ in chosen), text, tuple(i for *_, more in chosen for i in more)))
    return found


def _choices(tree: ast.Module, mark: ast.Call) -> list[_Choice] | None:
    """What `parametrize(names, values, ids=...)` chooses from, if all of it is written there."""
    if len(mark.args) != 2 or any(keyword.arg != "ids" for keyword in mark.keywords):
        return None
    names = parameter_names(mark.args[0])
    if names is None or not isinstance(mark.args[1], (ast.List, ast.Tuple)):
        return None
    listed = listed_values(names, mark.args[1], next((keyword.value for keyword in mark.keywords), None))
    choices: list[_Choice] = []
    for label, values in listed or ():
        needed = [_needed(tree, one) for one in values]
        if None in needed:
            return None
        texts = dict(zip(names, map(ast.unparse, values)))
        choices.append((label, texts, tuple(line for line in needed if line)))
    return choices if listed is not None else None


def listed_values(
    names: Sequence[str], written: ast.expr, ids: ast.expr | None
) -> list[tuple[str, Sequence[ast.expr]]] | None:
    """Each value that these parameters are given, with its id; None where they are not written in a list."""
    if not isinstance(written, (ast.List, ast.Tuple)):
        return None
    try:
        labels = [str(label) for label in ast.literal_eval(ids)] if ids is not None else []
    except (ValueError, TypeError):
        return None
    listed: list[tuple[str, Sequence[ast.expr]]] = []
    for index, value in enumerate(written.elts):
        label = labels[index] if index < len(labels) else ""
        values: Sequence[ast.expr] = [value]
        if isinstance(value, ast.Call) and ast.unparse(value.func).endswith("param"):
            values = value.args
            label = next((str(ast.literal_eval(k.value)) for k in value.keywords if k.arg == "id"), label)
        elif len(names) > 1:
            values = value.elts if isinstance(value, (ast.List, ast.Tuple)) else []
        if len(values) != len(names):
            return None
        label = label or "-".join(value_label(one, name, index) for name, one in zip(names, values))
        listed.append((label, values))
    return listed


def parameter_names(node: ast.expr) -> list[str] | None:
    try:
        given = ast.literal_eval(node)
    except ValueError:
        return None
    return [name.strip() for name in given.split(",") if name.strip()] if isinstance(given, str) else list(given)


def value_label(value: ast.expr, name: str, index: int) -> str:
    """As pytest names it: simple values by themselves, all others by parameter and number."""
    try:
        plain = ast.literal_eval(value)
    except ValueError:
        return f"{name}{index}"
    return str(plain) if plain is None or isinstance(plain, (str, bool, int, float, complex)) else f"{name}{index}"


def _needed(tree: ast.Module, value: ast.expr) -> str | None:
    """The import without which the value means nothing (`torch.float16`): empty for a literal, None if it is another
    expression."""
    try:
        ast.literal_eval(value)
        return ""
    except ValueError:
        pass
    root = value
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name) or root is value:
        return None
    for node in tree.body:
        if isinstance(node, ast.Import) and any((a.asname or a.name.split(".")[0]) == root.id for a in node.names):
            return ast.unparse(node) + "\n"
    return None
