"""What a kernel is, by one definition, whatever asks: launches, arguments, inlining, dead code."""

from __future__ import annotations

import libcst as cst
import pytest

from shrinkray_gpu.passes import inlining
from shrinkray_gpu.passes.python import unreachable
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import render
from shrinkray_gpu.source.calls import functions
from shrinkray_gpu.source.kernels import is_kernel
from shrinkray_gpu.source.spelling import name_for
from shrinkray_gpu.source.tree import every
from tests.passes.offers import program

DECORATORS = {
    "triton": ("import triton", "@triton.jit"),
    "with options": ("import triton", "@triton.jit(debug=True)"),
    "alone": ("from triton import jit", "@jit"),
    "renamed": ("from triton import jit as compiled", "@compiled"),
    "package renamed": ("import triton as tr", "@tr.jit"),
    "gluon": ("from triton.experimental import gluon", "@gluon.jit"),
    "gluon renamed": ("from triton.experimental.gluon import jit as gluon_kernel", "@gluon_kernel"),
    "handed on": ("from vllm.triton_utils import triton", "@triton.jit"),
}


def kernels(start: Program) -> list[str]:
    return [each.name.value for each in every(start, cst.FunctionDef) if is_kernel(start, each)]


@pytest.mark.parametrize("how", DECORATORS)
def test_a_kernel_is_one_for_everybody(how: str) -> None:
    line, decorator = DECORATORS[how]
    start = program(f"{line}\n{decorator}\ndef k(x):\n    pass\ndef f(x):\n    pass\nk[(1,)](y)\nf(y)\n")
    assert kernels(start) == ["k"]
    assert [each.node.name.value for each in functions(start) if each.is_kernel] == ["k"]


@pytest.mark.parametrize("decorator", ["@torch.compile", "@tune.autotune", "@jitter"])
def test_a_function_is_none(decorator: str) -> None:
    assert kernels(program(f"import torch, tune\n{decorator}\ndef f(x):\n    pass\n")) == []


@pytest.mark.parametrize("how", DECORATORS)
def test_helpers_are_inlined_into_kernels_of_any_name(how: str) -> None:
    line, decorator = DECORATORS[how]
    start = program(
        f"{line}\n{decorator}\ndef h(a):\n    return a + 1\n{decorator}\ndef k(x):\n    h(x)\nk[(1,)](torch.ones(1))\n"
    )
    assert any("x + 1" in render(start, [edit]).text for edit in inlining.find(start))


@pytest.mark.parametrize("how", DECORATORS)
def test_an_unused_kernel_goes(how: str) -> None:
    line, decorator = DECORATORS[how]
    start = program(f"{line}\n{decorator}\ndef k(x):\n    pass\nprint(1)\n")
    assert any("def k" not in render(start, [edit]).text for edit in unreachable.find(start))


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("import triton.language as T", "T.sum"),
        ("import triton.language", "triton.language.sum"),
        ("from triton.language import sum as total", "total"),
        ("from triton.language import load", None),
    ],
)
def test_a_word_is_spelled_as_the_program_would(line: str, written: str | None) -> None:
    start = program(f"import triton\n{line}\n@triton.jit\ndef k(x):\n    pass\n")
    (kernel,) = every(start, cst.FunctionDef)
    assert name_for(start, kernel, "sum") == written
