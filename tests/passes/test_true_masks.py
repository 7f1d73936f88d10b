from __future__ import annotations

import ast

import pytest

from shrinkray_gpu.passes.true_masks import find
from shrinkray_gpu.reduction.render import render
from tests.passes.offers import program, tidy

KERNEL = """
import triton
import triton.language as tl

@triton.jit
def kernel(x, y, n):
    {}
"""


def after(body: str) -> str:
    start = program(KERNEL.format(body))
    whole = render(start, list(find(start))).text
    return "\n".join(ast.unparse(node) for node in ast.parse(whole).body[-1].body)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("tl.load(x + 4096, mask=True, other=0.0)", "tl.load(x + 4096)"),
        ("tl.load(x + 4096, other=-1, volatile=True, mask=True)", "tl.load(x + 4096, volatile=True)"),
        ("tl.load(x + 4096, True, 0.0)", "tl.load(x + 4096)"),
        ("tl.load(x + 4096, True, other=n)", "tl.load(x + 4096)"),
        ("tl.store(y + 1, 2, mask=True)", "tl.store(y + 1, 2)"),
        ("tl.store(y + 1, tl.load(x + 1, mask=True), mask=True)", "tl.store(y + 1, tl.load(x + 1))"),
    ],
)
def test_a_mask_that_is_true_goes_with_its_other(body: str, left: str) -> None:
    assert after(body) == tidy(left)


@pytest.mark.parametrize(
    "body",
    [
        "tl.load(x + n, mask=n < 4, other=0.0)",
        "tl.load(x + n, mask=1 < 2)",
        "tl.load(x + n, mask=False, other=0.0)",
        "tl.load(x + n, other=True)",
        "tl.load(x + n, mask=True, other=tl.load(y))",
        "tl.load(x + n, mask=True, other=-tl.load(y))",
        "tl.load(x + n, True, 0.0, ())",
        "tl.load(x, mask=True, boundary_check=(0,))",
        "tl.store(y + n, True)",
        "tl.load(x + n, *(True,))",
        "cache.load(x, mask=True)",
    ],
)
def test_what_keeps_something_out_or_does_something_stays(body: str) -> None:
    assert after(body) == tidy(body)
