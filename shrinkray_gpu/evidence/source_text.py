"""What the source says at a place: the line's text, the call made there, a kernel's parameters."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from shrinkray_gpu.language import languages
from shrinkray_gpu.language.import_text import import_bindings

READS = frozenset({"load", "gather", "load_tensor_descriptor", "descriptor_load"})
WRITES = frozenset({"store", "scatter", "store_tensor_descriptor", "descriptor_store", "reduce"})
MOST = 80


@dataclass(frozen=True)
class SourceLine:
    """A line of the source."""

    file: str
    line: int
    text: str = ""
    column: int = -1
    """Of the character where the call's arguments begin, from 0; -1: not told."""
    shown: str = field(default="", compare=False)
    """The file as the user finds it: see `name_below`. Empty: by its name alone."""

    def __str__(self) -> str:
        return f"{self.shown or Path(self.file).name}:{self.line}"


def name_below(file: str, folders: Iterable[Path]) -> str:
    """A file by its path below the first of these folders that it is in, as `kernels/rope.py`, since two may have one
    name; by its name alone where it is in none."""
    path = Path(file)
    return next((str(path.relative_to(one)) for one in folders if path.is_relative_to(one)), path.name)


def line_of(text: str, line: int) -> str:
    """The line's text; empty if there is no such line."""
    lines = text.splitlines()
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def construct(text: str, line: int, access: str = "", column: int = -1) -> str:
    """What the line does to memory, by the names that it calls: `descriptor load`, `tl.store`, `helper, tl.dot`. Empty
    if it calls nothing.

    `access` is what is known of the faulting instruction (`read`, `write`), for a line that does both. `column` is
    where Triton's front end says that the call begins, from 0.
    """
    calls = list(_calls(text, line, column))
    modules = languages.modules(import_bindings(text), languages.USUAL)
    asserted = next((call for call in calls if call.rpartition(".")[2] == "device_assert"), "")
    if asserted and not access:
        return asserted
    wanted = [READS, WRITES] if access != "write" else [WRITES, READS]
    for names in wanted:
        for call in calls:
            owner, _, name = call.rpartition(".")
            if name in names or (names is WRITES and name.startswith("atomic_")):
                by_method = owner and not _is_module(owner, modules) and not name.startswith("atomic_")
                return f"descriptor {name}" if by_method or "descriptor" in name else call
    return ", ".join(dict.fromkeys(calls))[:MOST]


def _is_module(owner: str, modules: Mapping[str, str]) -> bool:
    return owner in modules or owner.rpartition(".")[2] in languages.LAST_NAMES


def parameters(text: str, kernel: str) -> tuple[str, ...]:
    """Names of the kernel's parameters, in order; empty if it is not in this text."""
    function = _function(text, kernel)
    if function is None:
        return ()
    given = function.args
    return tuple(one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs))


def first_line(text: str, kernel: str) -> int:
    """The line of the kernel's `def`, from which Triton's front end counts; 0 if it is not in this text."""
    function = _function(text, kernel)
    return function.lineno if function is not None else 0


def _function(text: str, name: str) -> ast.FunctionDef | None:
    functions = (node for node in _nodes(text) if isinstance(node, ast.FunctionDef) and node.name == name)
    return max(functions, key=lambda node: len(node.decorator_list), default=None)


def _calls(text: str, line: int, column: int = -1) -> Iterator[str]:
    """Dotted names of what is called on that line, innermost first, or else of the call that spans it: of the calls
    that begin at that column, if one does."""
    found = [node for node in _nodes(text) if isinstance(node, ast.Call)]
    there = [node for node in found if (node.lineno, node.col_offset) == (line, column)]
    # Of a call over several lines the compiler tells the line of its name or of its end.
    on_line = (
        there
        or [node for node in found if _name_line(node) == line]
        or [node for node in found if node.lineno <= line <= (node.end_lineno or node.lineno)]
    )
    for node in sorted(on_line, key=lambda node: len(ast.unparse(node))):
        name = ast.unparse(node.func)
        if re.fullmatch(r"[\w.]+", name):
            yield name


def _name_line(node: ast.Call) -> int:
    return node.func.end_lineno or node.lineno


def _nodes(text: str) -> Iterator[ast.AST]:
    try:
        yield from ast.walk(ast.parse(text))
    except SyntaxError:
        return
