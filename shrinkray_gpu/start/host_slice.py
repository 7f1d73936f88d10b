"""What the host program does to make the value with which a launch goes wrong: it stays, and is not lifted away.

A launch alone begins after that value was made, and has it as a number. Then the mistake of the host program, a wrong
product or a table of the step before, is no longer there to be mended. So the program itself is reduced, and what the
value hangs on is marked: statements with `# shrink: keep`, conditions and loops with `# shrink: keep-head`. It all
stays, since nobody knows which of it is wrong, and a condition that should have been another one shows in no value.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator

from shrinkray_gpu.oracle.cause_check import CONDITIONS, GIVEN, LaunchCauses, faulting_launch, is_of_grid
from shrinkray_gpu.runner.inside.static import cause as kinds
from shrinkray_gpu.runner.inside.static.cause import Cause
from shrinkray_gpu.runner.run import Launch, Run
from shrinkray_gpu.start.host_code import by_name, names
from shrinkray_gpu.start.slicing import Slice, Slicer

MARK, HEAD = "  # shrink: keep", "  # shrink: keep-head"
_INTEGERS = re.compile(r"u?i(?:8|16|32|64)\[")
_PLACE = re.compile(r" (?:\(\S+:\d+:\d+\)|at \S+:\d+:\d+)")
"""Lines are counted from the kernel's first here, where the text alone decides what is compiled again."""
_SCALAR = re.compile(r"u?i(?:8|16|32|64) ")
_SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return)


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
    launches = {
        statement: call
        for statement in ast.walk(tree)
        if isinstance(statement, _SIMPLE)
        for call in _launches(statement, launch.kernel)
    }
    passed = [value for call in launches.values() for value in _passed(call, kernel, launch)]
    if is_of_grid(launch.causes[0]):
        passed += [call.func for call in launches.values()]
    return _marked(named, Slicer(tree).behind(list(launches), passed))


def defines(text: str, kernel: str) -> bool:
    return any(each.name == kernel for each in _functions(ast.parse(text)))


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def _launches(tree: ast.AST, kernel: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
            if kernel in list(names(node.func.value)):
                yield node


def _passed(call: ast.Call, kernel: ast.FunctionDef, launch: Launch) -> Iterator[ast.expr]:
    """The arguments in which it lies."""
    taken = [each.arg for each in kernel.args.args]
    described = dict(zip(taken, launch.args))
    for name, value in by_name(call, taken):
        if _lies_in(launch.causes[0], name, described.get(name, "")):
            yield value


def _with_arguments_named(text: str, kernel: ast.FunctionDef, launch: Launch) -> str:
    """The text, where each argument that matters and is computed in the call is computed in a line before it."""
    for statement in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Expr)):
        for call in _launches(statement, launch.kernel):
            for value in _passed(call, kernel, launch):
                computed = not isinstance(value, (ast.Name, ast.Constant)) and any(names(value))
                lines = text.split("\n")
                first, at = statement.lineno - 1, value.lineno - 1
                before = lines[first][: statement.col_offset]
                if computed and value.lineno == value.end_lineno and not before.strip():
                    name = next(each for number in itertools.count() if (each := f"passed{number or ''}") not in text)
                    line = lines[at].encode()
                    written = line[value.col_offset : value.end_col_offset].decode()
                    lines[at] = (line[: value.col_offset] + name.encode() + line[value.end_col_offset :]).decode()
                    lines.insert(first, f"{before}{name} = {written}")
                    return _with_arguments_named("\n".join(lines), kernel, launch)
    return text


def _lies_in(cause: Cause, name: str, described: str) -> bool:
    if name == cause.tensor:
        return True
    if cause.kind in (kinds.EMPTY, kinds.UNWRITTEN) or is_of_grid(cause):
        return False
    loaded = kinds.LOADED in cause.inputs or cause.kind == kinds.MEMORY
    if cause.kind in (*GIVEN, *CONDITIONS) and cause.name:
        return name in cause.name.split(" and ") or loaded and _INTEGERS.match(described) is not None
    if cause.kind in GIVEN:
        return _SCALAR.match(described) is not None
    return bool((_INTEGERS if loaded else _SCALAR).match(described))


def _marked(text: str, found: Slice) -> str:
    lines = text.split("\n")
    for statement in found.statements:
        call = found.calls.get(statement)
        if isinstance(statement, ast.Expr) and call is not None and statement.lineno == statement.end_lineno:
            # What is printed of a result need not be there: behind the launch that faults nothing runs.
            at, line = statement.lineno - 1, lines[statement.lineno - 1].encode()
            kept = line[: statement.col_offset] + line[call.col_offset : call.end_col_offset]
            lines[at] = (kept + line[statement.end_col_offset :]).decode()
            statement.end_col_offset = len(kept)
        _mark(lines, statement, MARK)
    for head in found.heads:
        _mark(lines, head.iter if isinstance(head, ast.For) else head.test, HEAD)
    return "\n".join(lines)


def _mark(lines: list[str], node: ast.stmt | ast.expr, mark: str) -> None:
    """Sets a mark behind a statement, or behind the colon that follows a head's last expression."""
    last = (node.end_lineno or node.lineno) - 1
    code = lines[last].encode()[: node.end_col_offset].decode()
    rest = lines[last].removeprefix(code)
    if isinstance(node, ast.expr):
        closing = re.match(r"[\s)]*:", rest)
        if closing is None:
            return
        code, rest = code + closing[0], rest[closing.end() :]
    if not rest.strip() or rest.strip().startswith("#"):
        lines[last] = code + mark
