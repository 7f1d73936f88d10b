"""The house rules that a reader relies on: no cycle, no arrow that runs up, nothing loose at the top."""

from __future__ import annotations

import ast
import sys
from collections import Counter

import pytest

from tests import structure

LOOSE = {"__init__", "__main__", "errors", "events", "options"}
LONGEST = 400
WITH_TORCH = {"vgpu", "evaluator"}


def test_no_file_imports_itself_by_way_of_others() -> None:
    assert structure.cycles(structure.imports()) == []


@pytest.mark.parametrize("folder", structure.folders())
def test_nothing_in_a_folder_imports_itself_by_way_of_its_neighbours(folder: str) -> None:
    assert structure.cycles(structure.between_children(folder)) == []


def test_every_arrow_runs_down() -> None:
    up = {
        f"{module} imports {other}"
        for module, others in structure.imports().items()
        for other in others
        if structure.room(module) != structure.room(other)
        and structure.floor(structure.room(module)) >= structure.floor(structure.room(other))
    }
    assert up == set()


def test_nothing_lies_loose_at_the_top() -> None:
    loose = {path.stem for path in structure.modules().values() if path.parent.name == structure.PACKAGE}
    assert loose == LOOSE


def test_no_file_is_longer_than_a_reader_keeps_in_mind() -> None:
    long = {name: lines for name, path in structure.modules().items() if (lines := len(_lines(path))) > LONGEST}
    assert long == {}


def test_no_class_name_stands_twice() -> None:
    names = Counter(
        node.name
        for path in structure.modules().values()
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef)
    )
    assert {name for name, count in names.items() if count > 1} == set()


def test_what_runs_in_the_users_interpreter_needs_the_standard_library_only() -> None:
    outside = {
        f"{name}: {imported}"
        for name, path in structure.modules().items()
        if structure.room(name) == "runner.inside"
        for imported in _at_import(path.read_text())
        if imported not in sys.stdlib_module_names and not (imported == "torch" and name.split(".")[3] in WITH_TORCH)
    }
    assert outside == set(), "the virtual GPU and its evaluator alone are loaded where torch is there already"


def test_the_drawing_is_of_this_tree() -> None:
    text = structure.PAGE.read_text()
    assert structure.page(text) == text, "run `python -m tests.structure`"


def test_a_cycle_is_found() -> None:
    assert structure.cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


def _lines(path: structure.Path) -> list[str]:
    return path.read_text().splitlines()


def _at_import(source: str) -> set[str]:
    """The top-level packages that a module imports as soon as it is imported, but for those of its own."""
    found: set[str] = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found.add(node.module.partition(".")[0])
    return found


def test_only_code_counts_as_code() -> None:
    head = '"""Why."""\n\nA = 1  # one\n"""What it is."""\n# a comment\n\n\n'
    assert structure.code_lines(head + 'def f():\n    """So."""\n    return """\n    text"""\n') == 4
