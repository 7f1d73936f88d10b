"""Host expressions are watched in a run; those with one simple value become that value."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping

import libcst as cst
import pytest

from shrinkray_gpu.passes.host.observed import SAW, find, find_told, instrument, watchable
from shrinkray_gpu.reduction.program import Program, read_program
from shrinkray_gpu.reduction.rendering.render import render
from shrinkray_gpu.source.tree import source
from tests.passes.offers import SAMPLES, program, tidy

SCRIPT = """
import argparse
from dataclasses import dataclass

@dataclass
class Config:
    rows: int
    cols: int = 4

TABLE = {"small": Config(2), "large": Config(8, cols=16)}

def area(config, scale):
    rows, cols = config.rows, config.cols
    total = 0
    for row in range(rows):
        total += cols * scale
    return total

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="large")
    parser.add_argument("--scale", type=int, default=3)
    args = parser.parse_args([])
    config = TABLE[args.config]
    shape = (config.rows, config.cols)
    print(area(config, args.scale), shape, f"{args.scale}")

main()
"""


def watch(start: Program) -> dict[cst.CSTNode, str]:
    """Run the program with all that is watchable watched: the values that were always the same."""
    nodes = watchable(start)
    seen: dict[int, set[str]] = {}

    def saw(number: int, value: object) -> object:
        seen.setdefault(number, set()).add(repr(value))
        return value

    run(instrument(start, nodes).text, {SAW: saw})
    return {nodes[number]: next(iter(texts)) for number, texts in seen.items() if len(texts) == 1}


def run(text: str, names: Mapping[str, object]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(text, "<program>", "exec"), {"__name__": "__main__", **names})
    return out.getvalue()


def words(start: Program) -> list[str]:
    return [source(start, node) for node in watchable(start)]


def test_the_watched_program_does_the_same() -> None:
    start = program(SCRIPT)
    assert run(instrument(start, watchable(start)).text, {SAW: lambda _, value: value}) == run(SCRIPT, {})


def test_each_edit_alone_and_all_together_change_nothing_that_is_printed() -> None:
    start = program(SCRIPT)
    edits = list(find(start, watch(start)))
    assert edits
    for subset in [*([edit] for edit in edits), edits]:
        assert run(render(start, subset).text, {}) == run(SCRIPT, {}), [edit.what for edit in subset]


def test_tables_and_arguments_are_settled() -> None:
    start = program(SCRIPT)
    after = render(start, list(find(start, watch(start)))).text
    assert "args." not in after and "config.rows" not in after
    assert "range(8)" in after and "128" not in after  # `total` took many values


def test_where_what_is_computed_may_be_wrong_only_what_is_told_becomes_a_value() -> None:
    text = """
        import argparse, os
        parser = argparse.ArgumentParser()
        parser.add_argument("--rows", type=int, default=8)
        args = parser.parse_args([])
        home = os.environ["HOME"]
        print(args.rows, args.rows ** -1, home)
    """
    start = program(text)
    numbers = {node: number for number, node in enumerate(watchable(start))}
    values = {numbers[node]: text for node, text in watch(start).items()}
    after = render(start, list(find_told(start, values))).text
    assert "args.rows" not in after and "8 ** -1" in after and "environ" not in after
    assert "0.125" in render(start, list(find(start, values))).text


def test_a_variable_goes_with_its_binding() -> None:
    start = program("rows, cols = x.shape\nf(rows, cols, rows)")
    values = {
        node: {"rows": "8", "cols": "16"}[name]
        for node in watchable(start)
        if (name := source(start, node)) in ("rows", "cols")
    }
    assert render(start, list(find(start, values))[:1]).text == "f(8, 16, 8)\n"


def test_values_may_come_by_number() -> None:
    start = program("f(a.b, c.d)")
    by_number = [edit.what for edit in find(start, {0: "1", 2: "3"})]
    nodes = watchable(start)
    assert by_number == [edit.what for edit in find(start, {nodes[0]: "1", nodes[2]: "3"})] != []


def test_a_parameter_goes_with_its_arguments() -> None:
    start = program("def f(a, n):\n    return a[n]\nf(x, m)\nf(y, n=k)")
    values = {node: "2" for node in watchable(start) if source(start, node) == "n"}
    assert tidy(render(start, list(find(start, values))[:1]).text) == tidy("def f(a):\n    return a[2]\nf(x)\nf(y)")


def test_what_is_watched() -> None:
    assert words(program("y = f(a + b)[i].c\nz: int = 3")) == [
        "f(a + b)[i].c",
        "f(a + b)[i]",
        "f(a + b)",
        "a + b",
        "a",
        "b",
        "i",
    ]
    assert words(program("import torch\nx = torch.float32")) == ["torch.float32"]
    assert words(program("g(n)")) == ["n"]  # nobody wants the value of a statement
    assert words(program("for i, j in e: xs[i] = j")) == ["e", "j"]
    assert words(program("f'{a.b:.3f}'")) == ["a.b", "a"]


@pytest.mark.parametrize(
    "source_text",
    [
        "@triton.jit\ndef k(x):\n    y = x + 1",
        "@deco(a)\ndef f(x=b, *, y: c = d): pass",
        "class C(Base, metaclass=m): pass",
        "x = 3",
        "del a.b",
        "f = lambda: 0",
        "import a.b",
        "x: int",
        "global n",
        "sum(0 for _ in 'ab')",
    ],
)
def test_what_is_not_watched(source_text: str) -> None:
    assert words(program(source_text)) == []


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("3", True),
        ("-2.5", True),
        ("'cuda'", True),
        ("(8, 'a', None)", True),
        ("torch.float32", True),
        ("(torch.int8, 1)", True),
        ("inf", False),
        ("<object at 0x1>", False),
        ("tensor(1)", False),
        ("'" + "x" * 200 + "'", False),
        ("", False),
    ],
)
def test_simple_values(text: str, taken: bool) -> None:
    start = program("import torch\nf(a.b.c)")
    node = watchable(start)[0]
    assert [render(start, [edit]).text.splitlines()[1] for edit in find(start, {node: text})] == (
        [f"f({text})"] if taken else []
    )


def test_a_dtype_needs_torch_under_its_name() -> None:
    start = program("import torch as th\nf(a.b)")
    assert list(find(start, {watchable(start)[0]: "torch.float32"})) == []


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_samples_stay_python(sample) -> None:
    start = read_program(sample)
    nodes = watchable(start)
    watched = instrument(start, nodes)
    assert watched.parses and watched.text.count(SAW + "(") == len(nodes) > 50
    assert SAW not in watched.text[watched.text.index("@triton.jit") :].split("tl.store")[0]
    for value in ("3", "-1.5", "'it'", "(1, 2)"):
        edits = list(find(start, dict.fromkeys(nodes, value)))
        for subset in (edits, edits[::2], edits[1::3]):
            assert render(start, subset).parses
