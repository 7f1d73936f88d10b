"""What a command enters, and the same as a plain script: without `python -m`, without pytest, without our driver.

Where no launch can be lifted out of a command, that script is what can be made one file of (`lift.bundle`) and reduced:
the driver names its modules in strings. Whether it shows the fault is for a run to say.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from shrinkray_gpu.command.driver import Command, environment_lines
from shrinkray_gpu.command.test_calls import calls
from shrinkray_gpu.command.written_tests import written_tests
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.reduction.program import read_program


@dataclass(frozen=True)
class EntryFile:
    """A local file that a command runs; of a test file the node ids asked for, none if all."""

    file: Path
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plain:
    """A script that imports its modules, and the folders where these are found, in order."""

    text: str
    roots: tuple[Path, ...]


def entry_files(command: Command) -> tuple[EntryFile, ...]:
    """The local files that the command enters by name: the module's own, or the test files."""
    if command.test_files is None:
        return (EntryFile(command.file),) if command.file is not None else ()
    nodes: dict[Path, list[str]] = {}
    for file, node in command.test_files:
        nodes.setdefault(command.cwd / file, []).extend([node] if node else [])
    return tuple(EntryFile(file, tuple(found)) for file, found in nodes.items())


def plain_script(command: Command) -> Plain | None:
    """The command as a script in its working directory; None where that cannot be written down."""
    files = entry_files(command)
    if len(files) != 1 or files[0].file.suffix != ".py":
        return None
    file = files[0]
    try:
        source = read_program(file.file).text
    except UsageError:
        return None
    root, name = importable(file.file)
    if command.launched is not None and command.launched.script:
        root, name = file.file.parent, file.file.stem
    if command.is_pytest:
        where = root.relative_to(command.cwd).as_posix() if root.is_relative_to(command.cwd) else str(root)
        path = "" if root == command.cwd else where
        text = calls(source, file.nodes, module=name, path=path) or _test_file(source, file, name, path)
    elif command.test_files is not None:
        text = _test_file(source, file, name, "")
    else:
        text = _script(source, command, name.rpartition(".")[0])
    return None if text is None else Plain(text, tuple(dict.fromkeys((root, command.cwd))))


def importable(file: Path) -> tuple[Path, str]:
    """The first folder above a file that is no package, and the module's full name from there."""
    root, parts = file.parent, [file.stem]
    while (root / "__init__.py").exists():
        parts.insert(0, root.name)
        root = root.parent
    return root, ".".join(parts)


def _test_file(source: str, file: EntryFile, name: str, path: str) -> str | None:
    """A test file's own text that calls its tests."""
    spelled = _spelled_out(source, name.rpartition(".")[0])
    text = None if spelled is None else written_tests(spelled, file.nodes)
    return _with_head(text, f"import sys\nsys.path.insert(0, {path!r})\n" if path else "") if text else None


def _script(source: str, command: Command, package: str) -> str | None:
    """The module's own text, its relative imports spelled out, its arguments in it."""
    text, started = _spelled_out(source, package), command.launched
    args, environment = (started.args, started.environment) if started is not None else (command.args, ())
    head = environment_lines(environment) + (f"import sys\nsys.argv[1:] = {list(args)!r}\n" if args else "")
    return None if text is None else _with_head(text, head)


def _with_head(text: str, head: str) -> str:
    rows = text.splitlines(keepends=True)
    rows.insert(_after_the_head(ast.parse(text)), head)
    return "".join(rows)


def _spelled_out(source: str, package: str) -> str | None:
    """The module's text without relative imports; None where they leave its package."""
    tree = ast.parse(source)
    rows = source.splitlines(keepends=True)
    for node in reversed([node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]):
        parts = package.split(".") if package else []
        if node.level > len(parts):
            return None
        name = ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])
        row = rows[node.lineno - 1]
        head, dots = row[: node.col_offset], "." * node.level
        before, found, after = row[node.col_offset :].partition(dots + (node.module or ""))
        if not found or before.split() != ["from"]:
            return None
        rows[node.lineno - 1] = f"{head}{before}{name}{after}"
    return "".join(rows)


def _after_the_head(tree: ast.Module) -> int:
    """The number of lines that nothing may come before: docstring and `from __future__` imports."""
    end = 0
    for node in tree.body:
        words = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not words and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
        end = node.end_lineno or end
    return end
