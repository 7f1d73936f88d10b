"""A test that something sets up, as a script: its file's own text, in which fixtures and TestCases are plain ones.

Such tests need pytest or unittest beside them, which reports a failure and goes on. The script calls what these would
call, in their order, up to the test: `setUpClass`, `setUp`, each fixture once. Each parameter is a loop, so that the
case that fails can be found like that of any test loop. What follows a fixture's `yield` is left out: the test fails
before that. Whether the script shows the fault is for a run to say.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TypeGuard

from shrinkray_gpu.command.test_calls import listed_values, parameter_names

Function = ast.FunctionDef
_SET_UP = ("setUpClass", "setup_class", "setUp", "setup_method")
"""Of a class, in the order in which they are called."""
_PARAM = re.compile(r"\brequest\.param\b")
_FAILED = re.compile(r"^(?:FAIL|ERROR): (\w+) \(([\w.]+)\)", re.MULTILINE)


class _Unwritable(Exception):
    """What is asked for cannot be written down."""


@dataclass
class _Script:
    """The test file's text, and the changes of it."""

    source: str
    changed: dict[tuple[int, int], str] = field(default_factory=dict)
    """New text of lines, from the first to the last, counted from 1."""

    def replace(self, node: ast.stmt | ast.expr, text: str = "") -> None:
        self.changed[node.lineno, node.end_lineno or node.lineno] = text

    def drop_attribute(self, node: ast.Attribute) -> None:
        """`request` for `request.param`, as long as it is there."""
        rows = self.source.splitlines(keepends=True)
        rows[node.lineno - 1] = _PARAM.sub("request", rows[node.lineno - 1])
        self.source = "".join(rows)

    @property
    def text(self) -> str:
        rows = self.source.splitlines(keepends=True)
        for (first, last), text in sorted(self.changed.items(), reverse=True):
            rows[first - 1 : last] = [text]
        return "".join(rows)


@dataclass(frozen=True)
class _Loop:
    """Over what parameters are given, one after another."""

    names: tuple[str, ...]
    values: str
    listed: tuple[tuple[str, str], ...] = ()
    """Each value with its id; none where the values are not written in a list."""

    def head(self) -> str:
        return f"for {', '.join(self.names)} in {self.values}:"

    def once(self, number: int) -> str:
        return f"{', '.join(self.names)} = {self.listed[number][1]}"


def failed_methods(said: str) -> list[str]:
    """The tests that unittest reports as failed, `Class::method`, in its order."""
    found = ((name, owner.removesuffix(f".{name}").rpartition(".")[2]) for name, owner in _FAILED.findall(said))
    return list(dict.fromkeys(f"{owner}::{name}" for name, owner in found))


def written_tests(source: str, nodes: Sequence[str]) -> str | None:
    """The script of the tests with these node ids (none: all); None where that cannot be written down."""
    tree, script = ast.parse(source), _Script(source)
    try:
        calls = [line for node in nodes or _every_test(tree) for line in _calls(tree, script, node)]
    except _Unwritable:
        return None
    for node in tree.body:
        if isinstance(node, ast.If) and "__main__" in ast.unparse(node.test) or _runs_tests(node):
            script.replace(node)
    return script.text.rstrip("\n") + "\n\n\n" + "\n".join(calls) + "\n"


def _calls(tree: ast.Module, script: _Script, node: str) -> Iterator[str]:
    place, bracket, label = node.partition("[")
    *owners, name = place.split("::")
    classes = (each for each in tree.body if isinstance(each, ast.ClassDef))
    owner = next((each for each in classes if [each.name] == owners), None)
    body = owner.body if owner is not None else tree.body
    test = next((each for each in _functions(body) if each.name == name), None)
    if test is None or owners and not _may_be_made(owner) or any(not _is_mark(each) for each in test.decorator_list):
        raise _Unwritable
    given = _Given(tree, script, owner)
    marks = [*test.decorator_list[::-1], *(owner.decorator_list[::-1] if owner is not None else ())]
    loops = [_parametrized(mark) for mark in marks if _is_parametrize(mark)]
    chosen = {name for loop in loops for name in loop.names}
    asked = [each for each in _asked(test, method=owner is not None) if each not in chosen]
    for each in given.automatic():
        given.fixture(each)
    lines = [*given.lines]
    for each in asked:
        given.fixture(each)
    later = given.lines[len(lines) :]
    if owner is not None:
        held = "case" if "case" not in script.source.split() else "the_case"
        set_up = [each for word in _SET_UP for each in _functions(body) if each.name == word]
        of_class = [each for each in set_up if each.name.lower().endswith("class")]
        if _is_made_once(owner, tree):
            for decorator in (one for each in of_class for one in each.decorator_list):
                script.replace(decorator)
            of_class = []
        lines += [f"{owner.name}.{each.name}()" for each in of_class]
        lines += [f"{held} = {owner.name}()"]
        lines += [f"{held}.{each.name}()" for each in set_up if each not in of_class]
    lines += later
    arguments = [f"{each}={given.values[each]}" for each in asked] + [f"{each}={each}" for each in chosen]
    lines.append(f"{f'{held}.' if owner is not None else ''}{name}({', '.join(sorted(arguments))})")
    loops = [*given.loops, *loops]
    if bracket:
        yield from [*_of_case(loops, label.removesuffix("]")), *lines]
        return
    yield from ("    " * depth + loop.head() for depth, loop in enumerate(loops))
    yield from ("    " * len(loops) + line for line in lines)


def _is_made_once(owner: ast.ClassDef, tree: ast.Module) -> bool:
    """Whether what `setUpClass` stores in the class may as well be in its one object: nothing else looks there."""
    of_class = [each for each in _functions(owner.body) if each.decorator_list and "method" in _decorated(each)]
    names = sum(isinstance(each, ast.Name) and each.id == owner.name for each in ast.walk(tree))
    asked = any(isinstance(each, ast.Attribute) and each.attr == "__class__" for each in ast.walk(owner))
    typed = any(isinstance(each, ast.Name) and each.id in ("type", "__class__") for each in ast.walk(owner))
    plain = all(each.name in _SET_UP and _decorated(each) == "classmethod" for each in of_class)
    return plain and not (names or asked or typed)


def _decorated(made: Function) -> str:
    return " ".join(map(ast.unparse, made.decorator_list))


def _of_case(loops: Sequence[_Loop], label: str) -> list[str]:
    """The one value of each loop that pytest names so."""
    for numbers in product(*(range(len(loop.listed)) for loop in loops)):
        if "-".join(loop.listed[at][0] for loop, at in zip(loops, numbers)) == label:
            return [loop.once(at) for loop, at in zip(loops, numbers)]
    raise _Unwritable


class _Given:
    """What fixtures give: their calls in order, a variable for each value, a loop for each parameter."""

    def __init__(self, tree: ast.Module, script: _Script, owner: ast.ClassDef | None) -> None:
        self._script = script
        self._found = {name: each for each in _functions(tree.body) if (name := _fixture_name(each))}
        if owner is not None and any(_fixture_name(each) for each in _functions(owner.body)):
            raise _Unwritable
        self.lines: list[str] = []
        self.values: dict[str, str] = {}
        self.loops: list[_Loop] = []

    def automatic(self) -> list[str]:
        return [name for name, each in self._found.items() if _option(each, "autouse") is not None]

    def fixture(self, name: str) -> None:
        """The fixture's call, after those of what it asks for."""
        if name in self.values:
            return
        made = self._found.get(name)
        if made is None or len(made.decorator_list) > 1:
            raise _Unwritable
        self.values[name] = value = f"the_{name}"
        given = []
        for each in _asked(made, method=False):
            if each == "request":
                given.append(f"request={self._request(name, made)}")
                continue
            self.fixture(each)
            given.append(f"{each}={self.values[each]}")
        self.lines.append(f"{value} = {made.name}({', '.join(given)})")
        self._script.replace(made.decorator_list[0])
        _returning(made, self._script)

    def _request(self, name: str, made: Function) -> str:
        """What stands for `request.param`, of which alone the fixture may ask."""
        params, inside = _option(made, "params"), [each for each in ast.walk(made) if isinstance(each, ast.Attribute)]
        asked = [each for each in inside if isinstance(each.value, ast.Name) and each.value.id == "request"]
        if len(asked) != sum(isinstance(each, ast.Name) and each.id == "request" for each in ast.walk(made)):
            raise _Unwritable
        if any(each.attr != "param" for each in asked) or asked and params is None:
            raise _Unwritable
        if params is None:
            return "None"
        for each in asked:
            self._script.drop_attribute(each)
        self.loops.append(_loop([f"{name}_param"], params, _option(made, "ids")))
        return f"{name}_param"


def _returning(made: Function, script: _Script) -> None:
    """A fixture that yields its value returns it."""
    yields = [each for each in ast.walk(made) if isinstance(each, (ast.Yield, ast.YieldFrom))]
    if not yields:
        return
    for at, statement in enumerate(made.body):
        if isinstance(statement, ast.Expr) and statement.value is yields[0] and isinstance(yields[0], ast.Yield):
            value = f" {_PARAM.sub('request', ast.unparse(yields[0].value))}" if yields[0].value is not None else ""
            script.replace(statement, f"{' ' * statement.col_offset}return{value}\n")
            for later in made.body[at + 1 :]:
                script.replace(later)
            if len(yields) == 1:
                return
    raise _Unwritable


def _parametrized(mark: ast.Call) -> _Loop:
    names = parameter_names(mark.args[0]) if len(mark.args) == 2 else None
    if names is None or any(each.arg != "ids" for each in mark.keywords):
        raise _Unwritable
    return _loop(names, mark.args[1], next((each.value for each in mark.keywords), None))


def _loop(names: Sequence[str], values: ast.expr, ids: ast.expr | None) -> _Loop:
    listed = listed_values(names, values, ids)
    if listed is None:
        return _Loop(tuple(names), ast.unparse(values))
    texts = [", ".join(map(ast.unparse, parts)) for _, parts in listed]
    texts = [f"({text})" if len(names) > 1 else text for text in texts]
    return _Loop(tuple(names), f"[{', '.join(texts)}]", tuple((label, text) for (label, _), text in zip(listed, texts)))


def _asked(made: Function, *, method: bool) -> list[str]:
    plain = made.args.posonlyargs + made.args.args
    asked = [each.arg for each in plain[: len(plain) - len(made.args.defaults)]][1 if method else 0 :]
    return asked + [each.arg for each, value in zip(made.args.kwonlyargs, made.args.kw_defaults) if value is None]


def _option(made: Function, name: str) -> ast.expr | None:
    """What the fixture's decorator is given by this name."""
    mark = made.decorator_list[0]
    return (
        next((each.value for each in mark.keywords if each.arg == name), None) if isinstance(mark, ast.Call) else None
    )


def _fixture_name(made: Function) -> str:
    """By which tests ask for it; empty for what is no fixture."""
    for mark in made.decorator_list:
        called = ast.unparse(mark.func if isinstance(mark, ast.Call) else mark)
        if called in ("pytest.fixture", "fixture"):
            name = _option(made, "name")
            return str(name.value) if isinstance(name, ast.Constant) else made.name
    return ""


def _every_test(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and (node.name.startswith("Test") or node.bases):
            yield from (f"{node.name}::{each.name}" for each in _functions(node.body) if each.name.startswith("test"))
        elif isinstance(node, Function) and node.name.startswith("test"):
            yield node.name


def _functions(body: Sequence[ast.stmt]) -> list[Function]:
    return [each for each in body if isinstance(each, Function)]


def _may_be_made(owner: ast.ClassDef | None) -> bool:
    """Whether it is a class of tests that needs nothing of what it is made of but TestCase."""
    return owner is not None and all(ast.unparse(each).rpartition(".")[2] == "TestCase" for each in owner.bases)


def _runs_tests(node: ast.stmt) -> bool:
    """Whether a statement without a guard runs the file's tests."""
    called = ast.unparse(node.value.func) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else ""
    return called in ("unittest.main", "pytest.main")


def _is_mark(decorator: ast.expr) -> bool:
    return "mark." in ast.unparse(decorator)


def _is_parametrize(decorator: ast.expr) -> TypeGuard[ast.Call]:
    return isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith("mark.parametrize")
