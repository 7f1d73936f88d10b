"""What the host program does to make the value with which a launch goes wrong: it stays, and is not lifted away.

A launch alone begins after that value was made, and has it as a number. Then the mistake of the host program, a wrong
product or a table of the step before, is no longer there to be mended. So the program itself is reduced, and the
statements that make the value are marked `# shrink: keep`: the backward slice, by names, of what the launch passes.
(M. Weiser, Program slicing, 1981; here by names alone, since Python's aliases are not known.)
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from shrinkray_gpu.oracle.cause_check import GIVEN, LaunchCauses, faulting_launch, is_of_grid
from shrinkray_gpu.runner.inside.static import cause as kinds
from shrinkray_gpu.runner.inside.static.cause import Cause
from shrinkray_gpu.runner.run import Launch, Run

STEPS = 2
"""Assignments one behind another that are followed back."""
MOST = 12
SHORT = 6
"""Lines of an `if` that is kept as a whole, where it decides whether the value is made."""
MARK = "  # shrink: keep"
_INTEGERS = re.compile(r"u?i(?:8|16|32|64)\[")
_PLACE = re.compile(r" (?:\(\S+:\d+:\d+\)|at \S+:\d+:\d+)")
"""Lines are counted from the kernel's first here, where the text alone decides what is compiled again."""
_SCALAR = re.compile(r"u?i(?:8|16|32|64) ")
_PLAIN = frozenset(
    {"torch", "triton", "tl", "self", "cls", "shape", "stride", "device", "dtype", "numel", "size", "data"}
)


def made_by_host(causes: LaunchCauses | None) -> str:
    """What the host program makes that goes wrong in its launch; empty where that is the kernel's doing, or unknown."""
    return _PLACE.sub("", causes.causes[0].sentence) if causes is not None and causes.made_by_host else ""


def with_slice_kept(text: str, run: Run) -> str:
    """The program's text, with marks at what makes the value; the text itself where its kernel is none of the text's,
    or is launched by no call of its name."""
    launch = faulting_launch(run)
    if launch is None or not launch.causes:
        return text
    tree = ast.parse(text)
    kernel = next((each for each in _functions(tree) if each.name == launch.kernel), None)
    if kernel is None:
        return text
    named = _with_arguments_named(text, kernel, launch)
    tree = ast.parse(named)
    launches = list(_launches(tree, launch.kernel))
    passed = [value for call in launches for value in _passed(call, kernel, launch)]
    if is_of_grid(launch.causes[0]):
        passed += [call.func for call in launches]
    names = [name for value in passed for name in _names(value)]
    return _marked(named, _Slice(tree).behind(names, STEPS + (named != text)))


def defines(text: str, kernel: str) -> bool:
    return any(each.name == kernel for each in _functions(ast.parse(text)))


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def _launches(tree: ast.AST, kernel: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
            if kernel in list(_names(node.func.value)):
                yield node


def _passed(call: ast.Call, kernel: ast.FunctionDef, launch: Launch) -> Iterator[ast.expr]:
    """The arguments in which it lies."""
    cause, names = launch.causes[0], [each.arg for each in kernel.args.args]
    given = dict(zip(names, call.args)) | {word.arg: word.value for word in call.keywords if word.arg}
    described = dict(zip(names, launch.args))
    for name, value in given.items():
        if _lies_in(cause, name, described.get(name, "")):
            yield value


def _with_arguments_named(text: str, kernel: ast.FunctionDef, launch: Launch) -> str:
    """The text, where each argument that matters and is computed in the call is computed in a line before it."""
    for statement in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Expr)):
        for call in _launches(statement, launch.kernel):
            for value in _passed(call, kernel, launch):
                computed = not isinstance(value, (ast.Name, ast.Constant)) and any(_names(value))
                lines = text.split("\n")
                first, at = statement.lineno - 1, value.lineno - 1
                before = lines[first][: statement.col_offset]
                if computed and value.lineno == value.end_lineno and not before.strip():
                    name = next(each for number in range(MOST) if (each := f"passed{number or ''}") not in text)
                    line = lines[at].encode()
                    written = line[value.col_offset : value.end_col_offset].decode()
                    lines[at] = (line[: value.col_offset] + name.encode() + line[value.end_col_offset :]).decode()
                    lines.insert(first, f"{before}{name} = {written}")
                    return _with_arguments_named("\n".join(lines), kernel, launch)
    return text


def _lies_in(cause: Cause, name: str, described: str) -> bool:
    if cause.kind in (kinds.EMPTY, kinds.UNWRITTEN) or is_of_grid(cause):
        return name == cause.tensor
    if cause.kind in (*GIVEN, kinds.ZERO) and cause.name:
        return name in cause.name.split(" and ")
    loaded = kinds.LOADED in cause.inputs or cause.kind == kinds.MEMORY
    if cause.kind in GIVEN:
        return _SCALAR.match(described) is not None
    return bool((_INTEGERS if loaded else _SCALAR).match(described))


def _names(node: ast.AST) -> Iterator[str]:
    """Names and attributes that an expression reads or binds, but for those that say nothing of whose they are."""
    for each in ast.walk(node):
        name = each.id if isinstance(each, ast.Name) else each.attr if isinstance(each, ast.Attribute) else ""
        if name and name not in _PLAIN:
            yield name


class _Slice:
    """Assignments and returns of the host's code."""

    def __init__(self, tree: ast.Module) -> None:
        self._assigned: list[tuple[ast.stmt, set[str], ast.expr]] = []
        self._returned: dict[str, list[tuple[ast.stmt, ast.expr]]] = {}
        self._question: dict[ast.stmt, ast.If] = {}
        todo: list[tuple[ast.AST, str, ast.If | None]] = [(tree, "", None)]
        while todo:
            node, function, question = todo.pop()
            if isinstance(node, ast.FunctionDef):
                if any("jit" in ast.unparse(each) for each in node.decorator_list):
                    continue
                function, question = node.name, None
            if isinstance(node, ast.If) and (node.end_lineno or 0) - node.lineno < SHORT:
                question = question or node
            if question is not None and isinstance(node, ast.stmt):
                self._question[node] = question
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                self._assigned.append((node, {name for each in targets for name in _bound(each)}, node.value))
            elif isinstance(node, ast.Return) and node.value is not None:
                self._returned.setdefault(function, []).append((node, node.value))
            todo += [(each, function, question) for each in ast.iter_child_nodes(node)]

    def behind(self, names: Sequence[str], steps: int) -> list[ast.stmt]:
        """The statements that make what has these names, the nearest first, and what decides whether they do."""
        found: dict[ast.stmt, None] = {}
        now, seen = list(dict.fromkeys(names)), set(names)
        for _ in range(steps):
            values: list[ast.expr] = []
            for name in now:
                for statement, targets, value in self._assigned:
                    if name in targets and statement not in found:
                        found[statement] = None
                        values.append(value)
                for statement, value in self._returned.get(name, ()):
                    if statement not in found:
                        found[statement] = None
                        values.append(value)
            now = [name for value in values for name in _names(value) if name not in seen]
            seen.update(now)
        return list(dict.fromkeys(self._question.get(each, each) for each in list(found)[:MOST]))


def _bound(target: ast.expr) -> Iterator[str]:
    """What an assignment gives a value to: `name`, `object.name`, each of `a, b`; of `x[i]` that is x."""
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Attribute):
        yield target.attr
    elif isinstance(target, (ast.Subscript, ast.Starred)):
        yield from _bound(target.value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for each in target.elts:
            yield from _bound(each)


def _marked(text: str, statements: Sequence[ast.stmt]) -> str:
    lines = text.split("\n")
    for statement in statements:
        end = statement.test if isinstance(statement, ast.If) else statement
        last = (end.end_lineno or end.lineno) - 1
        code = lines[last].encode()[: end.end_col_offset].decode() + (":" if end is not statement else "")
        rest = lines[last].removeprefix(code).strip()
        if lines[last].startswith(code) and (not rest or rest.startswith("#")):
            lines[last] = code + MARK
    return "\n".join(lines)
