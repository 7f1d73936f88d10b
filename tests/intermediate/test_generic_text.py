"""The model holds all that the compiler's generic form says: read, written and parsed again, a module is the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.intermediate.generic_text import NotGeneric, read, split, write
from shrinkray_gpu.intermediate.ir_file import read_ir
from shrinkray_gpu.intermediate.model import count, every, types
from tests.intermediate.conftest import Asked
from tests.intermediate.programs import JUMPS, LAID_OUT, LOOP, SELECT

FOLDER = Path(__file__).parents[2] / "benchmarks" / "ir_cases"
CASES = [
    path
    for path in sorted(FOLDER.glob("*.*"))
    if path.suffix != ".md" and "#triton_gpu." not in path.read_text()  # the dialect's name up to Triton 3.2
]


@pytest.mark.parametrize("text", [LOOP, JUMPS, LAID_OUT, SELECT], ids=["loop", "jumps", "layouts", "select"])
def test_there_and_back(asked: Asked, text: str) -> None:
    assert asked.parses(write(asked.module(text))) == asked.parses(text)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name)
def test_there_and_back_of_each_case(asked: Asked, path: Path) -> None:
    text = read_ir(path).text
    assert asked.parses(write(asked.module(text))) == asked.parses(text)


def test_values_keep_their_scopes(asked: Asked) -> None:
    """The printer gives one name to values of two regions."""
    keys = [value.key for each in every(asked.module(LOOP).top) for value in each.results]
    assert len(keys) == len(set(keys))
    assert set(types(asked.module(LOOP))) >= set(keys)


def test_operations_as_a_reader_counts_them(asked: Asked) -> None:
    assert count(asked.module(SELECT)) == 5, "constant, comparison, select, load, store"
    assert count(asked.module("module {\n  tt.func @f() {\n    tt.return\n  }\n}\n")) == 0


def test_a_list_is_split_outside_of_brackets_and_strings() -> None:
    assert split('tensor<2x3xf32, #b>, "a, b", (i32, i32) -> i1') == [
        "tensor<2x3xf32, #b>",
        '"a, b"',
        "(i32, i32) -> i1",
    ]


@pytest.mark.parametrize("text", ["", "module {\n}\n", '"builtin.module"() ({\n', '"a.b"(%0) : (i32) -> ()\n'])
def test_what_is_not_generic_is_refused(text: str) -> None:
    with pytest.raises(NotGeneric):
        read(text)
