"""The structure of the package, measured from its own imports: rooms, arrows between them, cycles.

A room is a folder directly below `shrinkray_gpu/`, or a file that lies loose there. `runner/inside` is a room of its
own, since it runs in the user's interpreter. `python -m tests.structure` draws the rooms in docs/architecture.md anew,
and counts their lines of code.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "shrinkray_gpu"
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- rooms: begin, by `python -m tests.structure` -->", "<!-- rooms: end -->"

FLOORS = (
    ("__init__", "__main__"),
    ("cli", "capture"),
    ("job", "triage"),
    ("questions",),
    ("attachment", "corpus"),
    ("result", "start"),
    ("options",),
    ("same_fault", "calibration", "ptx", "cu", "folder"),
    ("evidence", "judging", "command", "lift", "intermediate"),
    ("passes",),
    ("source",),
    ("reduction",),
    ("oracle", "cells"),
    ("runner",),
    ("runner.inside", "device", "language"),
    ("errors", "events"),
)
"""The rooms, the highest floor first. A module imports from its own room and from floors below its own."""

Graph = Mapping[str, set[str]]


@cache
def modules() -> dict[str, Path]:
    """Each module of the package by its dotted name."""
    found = {}
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imports() -> dict[str, set[str]]:
    """Which modules of the package each module imports, wherever in its text the import stands."""
    return {name: set(_imported(name, path)) - {name} for name, path in modules().items()}


def _imported(name: str, path: Path) -> Iterable[str]:
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules())
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                full = f"{base}.{alias.name}"
                if full in modules() or base in modules():
                    yield full if full in modules() else base


def room(module: str) -> str:
    """The room in which a module stands."""
    parts = module.split(".")[1:]
    if not parts:
        return "__init__"
    return "runner.inside" if parts[:2] == ["runner", "inside"] else parts[0]


def arrows() -> dict[str, set[str]]:
    """Which rooms each room imports from. The public names that `__init__` hands out are loaded by name, later."""
    found: dict[str, set[str]] = defaultdict(set)
    for module, others in imports().items():
        found[room(module)] |= {room(other) for other in others} - {room(module)}
    return dict(found)


def between_children(folder: str) -> dict[str, set[str]]:
    """The imports between the files and folders directly in one folder, each folder with all that lies below it."""
    depth = folder.count(".") + 2
    found: dict[str, set[str]] = defaultdict(set)
    for module, others in imports().items():
        for other in others:
            if f"{module}.".startswith(f"{folder}.") and f"{other}.".startswith(f"{folder}."):
                ours, theirs = (".".join(each.split(".")[:depth]) for each in (module, other))
                found[ours] |= {theirs} - {ours}
    return dict(found)


def folders() -> list[str]:
    """The dotted names of all folders with an `__init__.py`."""
    return [name for name, path in modules().items() if path.name == "__init__.py"]


def cycles(graph: Graph) -> list[list[str]]:
    """The strongly connected components of more than one node (Tarjan, 1972)."""
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = lowest[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in stack:
                lowest[node] = min(lowest[node], index[other])
        if lowest[node] == index[node]:
            at = stack.index(node)
            component = sorted(stack[at:])
            del stack[at:]
            if len(component) > 1:
                found.append(component)

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def floor(name: str) -> int:
    """The floor of a room, 0 for the highest. Raises StopIteration for a room that FLOORS does not have."""
    return next(number for number, names in enumerate(FLOORS) if name in names)


def drawing() -> str:
    """The rooms as a Mermaid graph, with only the arrows that no longer way says already."""
    graph = arrows()
    lines = ["```mermaid", "graph TD"]
    for names in FLOORS:
        lines += [f"  {_label(name)}" for name in names if name in graph or any(name in to for to in graph.values())]
    for name in sorted(graph, key=floor):
        direct = {to for to in graph[name] if not any(to in _reached(other, graph) for other in graph[name] - {to})}
        lines += [f"  {_id(name)} --> {_id(to)}" for to in sorted(direct, key=lambda to: (floor(to), to))]
    return "\n".join([*lines, "```"])


def _reached(name: str, graph: Graph) -> set[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for other in graph.get(waiting.pop(), set()) - found:
            found.add(other)
            waiting.append(other)
    return found


def _id(name: str) -> str:
    return name.replace(".", "_").strip("_") + "_"


def _label(name: str) -> str:
    files = sum(room(module) == name for module in modules())
    return f'{_id(name)}["{name} ({files})"]'


def page(text: str) -> str:
    """The page with its drawing made anew."""
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n{drawing()}\n{END}{after}"


_NO_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def code_lines(text: str) -> int:
    """Lines that hold code: no blank ones, comments or docstrings, those below an attribute among them."""
    said = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            said |= {*range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    found = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            found |= {*range(token.start[0], token.end[0] + 1)}
    return len(found - said)


def code_by_room() -> Counter[str]:
    return sum((Counter({room(name): code_lines(path.read_text())}) for name, path in modules().items()), Counter())


if __name__ == "__main__":
    for name, lines in code_by_room().most_common():
        sys.stdout.write(f"{lines:7} {name}\n")
    sys.stdout.write(f"{code_by_room().total():7} lines of code\n")
    PAGE.write_text(page(PAGE.read_text()))
    sys.stdout.write(f"{PAGE.relative_to(ROOT)}: {len(modules())} modules in {len(arrows())} rooms\n")
