"""The only access may lead far away; one of several may be in bounds, and stays where it is."""

from __future__ import annotations

import pytest

from shrinkray_gpu.passes.far_offset import far_offset
from tests.passes.offers import program, tidy

KERNEL = "@triton.jit\ndef f(x, y, n):\n    {}\n\n\nf[(1,)](t, u, 3)\n"
AWAY = "tl.load(x + 274877906944, mask=tl.program_id(0) < n, other=0.0)"
OUTSIDE = KERNEL.format("tl.load(x + 65535 * 1024, mask=tl.program_id(0) < n, other=0.0)")


@pytest.mark.parametrize(
    ("body", "away"),
    [
        ("tl.load(x + 65535 * 1024, mask=tl.program_id(0) < n, other=0.0)", AWAY),
        ("tl.load(x + tl.program_id(0).to(tl.int64) * n, mask=tl.program_id(0) < n, other=0.0)", AWAY),
        ("i = n * 4\n    tl.store(x + i, 0)", "i = n * 4\n    tl.store(x + 274877906944, 0)"),
    ],
)
def test_where_there_is_one_access_its_offset_leads_far_away(body: str, away: str) -> None:
    assert tidy(far_offset(program(KERNEL.format(body))).text) == tidy(KERNEL.format(away))


def test_once_it_is_there_it_stays() -> None:
    there = far_offset(program(OUTSIDE))
    assert far_offset(there) is there


@pytest.mark.parametrize(
    "body",
    [
        "tl.load(x)",
        "tl.load(tl.where(n < 65535, x + n, x))",
        "tl.load(x + tl.minimum(n, 65535))",
        "tl.load(x + tl.load(y))",
        "tl.load(x + n[0])",
        "tl.load(x + (7 if n else 8))",
        "tl.load(n + x - 65535)",
        "tl.load(x - 65535)",
        "for i in range(2):\n        tl.load(x + 65535)",
        "if n:\n        tl.load(x + 65535)",
        "tl.load(x + 65535)\n    tl.store(y, 0)",
        "tl.load(x + 65535)\n    tl.atomic_add(y, 1)",
        "tl.load(x + 65535)\n    elsewhere(y)",
        "tl.load(x + 65535)\n    y[n] = 1",
        "x += n\n    tl.load(x + 65535)",
        "z = x\n    tl.load(x + 65535)",
        "z = x + n\n    tl.load(z + 65535)",
        "x.load([65535, 0])",
    ],
)
def test_what_may_be_in_bounds_stays_there(body: str) -> None:
    start = program(KERNEL.format(body))
    assert far_offset(start) is start


@pytest.mark.parametrize(
    "more",
    [
        "f[(1,)](u, t, 3)\n",
        "@triton.jit\ndef g(y):\n    tl.store(y, 0)\n",
        "def g(y):\n    return y\n",
        "k = triton.jit(f)\n",
        "t = [u for u in range(3)]\n",
        "while t:\n    t = u\n",
    ],
)
def test_what_another_launch_may_do_stays_too(more: str) -> None:
    start = program(OUTSIDE + more)
    assert far_offset(start) is start and far_offset(program(OUTSIDE)).text != OUTSIDE


def test_a_function_that_is_no_kernel_has_no_access() -> None:
    start = program(OUTSIDE.replace("@triton.jit\n", ""))
    assert far_offset(start) is start
