"""Passes see a kernel's language under whatever name a program imports it: the same edits but for that name."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from shrinkray_gpu.passes import PASSES, Pass
from shrinkray_gpu.passes.kernel import accesses, fillings, outlets
from shrinkray_gpu.passes.kernel.typed import watchable
from shrinkray_gpu.passes.python import loops
from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.program import Program, read_program
from shrinkray_gpu.reduction.rendering.render import render
from shrinkray_gpu.source.kernels import in_kernel
from tests.passes.offers import results

USUAL = "import triton.language as tl"
OTHERS = ("import triton.language as tt", "from triton import language as tt")
"""Of the same length as the usual name: a description of an edit is cut off at a number of characters."""
SAMPLES = [Path(__file__).parent / "samples" / f"{name}.py" for name in ("attention", "packed_floats", "row_scale")]
ROOMS = ("host", "kernel", "python")
OF_KERNELS = [each for each in dict.fromkeys(PASSES) if each.module.__name__.split(".")[2] in ROOMS]


class Outcome(NamedTuple):
    what: str
    level: int
    weight: int
    text: str


@cache
def sample(path: Path, line: str) -> Program:
    text = read_program(path).text
    assert USUAL in text and not re.search(r"\btt\b", text)
    return Program.from_text(re.sub(r"\btl\.", "tt.", text.replace(USUAL, line)) if line != USUAL else text)


def edits(a_pass: Pass, program: Program) -> list[Edit]:
    types = {number: "<fp32 [16, 16]>" for number, node in enumerate(watchable(program)) if in_kernel(program, node)}
    return list(a_pass.find(program, types) if a_pass.needs_values else a_pass.find(program))


def outcomes(a_pass: Pass, program: Program) -> list[Outcome]:
    """What comes of each edit, with the usual name of the language."""
    return [
        Outcome(_usual(edit.what), edit.level, 0 if " import " in edit.what else edit.weight, _usual(text))
        for edit in edits(a_pass, program)
        if (text := render(program, [edit]).text)
    ]


def _usual(text: str) -> str:
    for line in OTHERS:
        text = text.replace(line, USUAL)
    return re.sub(r"\btt\b", "tl", text).replace("from triton import", "import triton.")


@pytest.mark.parametrize("a_pass", OF_KERNELS, ids=lambda a_pass: a_pass.name)
def test_a_pass_offers_the_same_under_any_name(a_pass: Pass) -> None:
    for path in SAMPLES:
        expected = outcomes(a_pass, sample(path, USUAL))
        for line in OTHERS:
            assert outcomes(a_pass, sample(path, line)) == expected, (path.stem, line)


KERNEL = """
from triton import jit as compiled
{line}

@compiled
def k(x, y, n):
    for i in {name}static_range(0, n):
        {name}store(y + i, {name}sum({name}load(x + i, i < n, 0.0)), i < n)
"""
ALONE = "from triton.language import load, static_range, store, sum"


@pytest.mark.parametrize("line", ["import triton.language as T", "from triton import language as T", ALONE])
def test_accesses_and_ranges_are_known_by_what_is_imported(line: str) -> None:
    text = KERNEL.format(line=line, name="" if line == ALONE else "T.")
    plain = KERNEL.format(line=USUAL, name="tl.")
    for a_pass in (accesses, loops):
        found = results(a_pass.find, text)
        assert found and len(found) == len(results(a_pass.find, plain)), a_pass.__name__
        assert not any("tl" in each for each in found)


def test_a_pass_writes_no_name_that_the_program_does_not_have() -> None:
    text = KERNEL.format(line="from triton.language import load, static_range, store", name="").replace("sum(", "(")
    program = Program.from_text(text)
    assert not any("sum" in render(program, [edit]).text for edit in accesses.find(program))
    assert list(outlets.find(program)) == []
    types = {number: "<fp32 [16, 16]>" for number, _ in enumerate(watchable(program))}
    assert not any("zeros" in edit.what for edit in fillings.find(program, types))


def test_a_name_out_of_a_package_of_the_users_is_what_it_is_by_custom() -> None:
    line = "from vllm.triton_utils import tl, triton"
    assert results(loops.find, KERNEL.format(line=line, name="tl."))
    assert results(loops.find, KERNEL.format(line="from textlib import tags as T", name="T.")) == []


def test_a_kernel_of_gluon_is_written_in_gluon() -> None:
    text = """
        from triton.experimental import gluon
        from triton.experimental.gluon import language as ttgl
        import triton.language as tl

        @gluon.jit
        def k(x, y):
            ttgl.store(y + 1, ttgl.load(x + 1))
    """
    written = results(accesses.find, text)
    assert any("ttgl.store(y, ttgl.sum(ttgl.load(x + 1)))" in each for each in written)
    assert not any("tl.sum" in each.replace("ttgl.", "") for each in written)
