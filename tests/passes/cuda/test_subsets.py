"""Whatever the subset of a pass's edits: the script is Python, and the CUDA C++ in it is no less C++ than before."""

from __future__ import annotations

import ast
import random

import pytest

from shrinkray_gpu.passes import PASSES
from shrinkray_gpu.passes.cuda.cuda_layout import tidy
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import effective, render
from tests.passes.cuda.samples import SCRIPTS, SOURCE

ELSEWHERE = ("cuda_layout", "cuda_flattening", "cuda_inputs", "cuda_owners", "cuda_command_line", "cuda_sizes")
"""Of these the first is free, and the others are for what no sample here has: see test_whole_files."""
CUDA = [
    each
    for each in dict.fromkeys(PASSES)
    if each.name.startswith("cuda_") and each.name not in ELSEWHERE and each.function == "find"
]


def errors(program: Program) -> int:
    return sum(literal.tree.errors for literal in program.literals)


@pytest.mark.parametrize("way", SCRIPTS)
def test_a_literal_is_read_as_python_reads_it(way: str) -> None:
    program = Program.from_text(SCRIPTS[way])
    (literal,) = program.literals
    scope: dict[str, object] = {"use": lambda *_, **__: None}
    exec(program.text, scope)
    read = literal.source.replace("shrink_field_1_", "16")
    assert read == scope["source"] == SOURCE
    assert errors(program) == 0


@pytest.mark.parametrize("way", SCRIPTS)
@pytest.mark.parametrize("each", CUDA, ids=lambda each: each.name)
def test_any_subset_parses(way: str, each: object) -> None:
    program = Program.from_text(SCRIPTS[way])
    edits = list(each.find(program))  # type: ignore[attr-defined]
    assert edits, "the sample has something for each pass"
    rng = random.Random(way)
    chosen = [[edit] for edit in edits] + [rng.sample(edits, rng.randint(1, len(edits))) for _ in range(25)]
    made = 0
    for subset in chosen:
        subset = sorted(subset, key=edits.index)
        text = render(program, subset).text
        ast.parse(text)
        after = Program.from_text(text)
        assert errors(after) == 0, ([edit.what for edit in subset], text)
        made += text != program.text and bool(effective(program, subset))
    assert made > len(chosen) // 2


@pytest.mark.parametrize("way", SCRIPTS)
def test_layout_is_free(way: str) -> None:
    program = Program.from_text(SCRIPTS[way].replace("#include <cuda_fp16.h>", "#include <cuda_fp16.h> // a note"))
    (layout,) = [each for each in PASSES if each.name == "cuda_layout"]
    after = render(program, list(layout.find(program)))
    assert after.key == program.key and "a note" not in after.text


def test_an_emptied_list_needs_no_line_of_its_own() -> None:
    assert tidy("\nvoid f(\n    ) {\ng();\n}\n") == "\nvoid f() {\n  g();\n}\n"
