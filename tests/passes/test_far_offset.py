"""The only access may lead far away; one of several may be in bounds, and stays where it is."""

from __future__ import annotations

import pytest

from shrinkray_gpu.passes.far_offset import find
from tests.passes.offers import results, tidy

KERNEL = "@triton.jit\ndef f(x, y, n):\n    {}\n\n\nf[(1,)](t, u, 3)\n"
OUTSIDE = KERNEL.format("tl.load(x + 67107840, mask=tl.program_id(0) < n, other=0.0)")


def test_where_there_is_one_access_its_offset_leads_far_away() -> None:
    away = KERNEL.format("tl.load(x + 274877906944, mask=tl.program_id(0) < n, other=0.0)")
    assert results(find, OUTSIDE) == [tidy(away)]
    assert results(find, away) == []
    assert results(find, KERNEL.format("tl.store(x + 0x10001, 0)")) == [
        tidy(KERNEL.format("tl.store(x + 274877906944, 0)"))
    ]


@pytest.mark.parametrize(
    "body",
    [
        "tl.load(x)",
        "tl.load(x + 65536)",
        "tl.load(x + n)",
        "tl.load(x + tl.arange(0, 131072))",
        "tl.load(x + 65537 * n)",
        "tl.load(x + (n * 7 // 3 + 65537))",
        "tl.load(tl.where(n < 65537, x + n, x))",
        "tl.load(x + tl.minimum(n, 65537))",
        "tl.load(x + tl.load(y))",
        "tl.load(x + n[0])",
        "tl.load(x + (7 if n else 8))",
        "tl.load(n + x - 65537)",
        "tl.load(x - 65537)",
        "for i in range(2):\n        tl.load(x + 65537)",
        "if n:\n        tl.load(x + 65537)",
        "tl.load(x + 65537)\n    tl.store(y, 0)",
        "tl.load(x + 65537)\n    tl.atomic_add(y, 1)",
        "tl.load(x + 65537)\n    elsewhere(y)",
        "tl.load(x + 65537)\n    y[n] = 1",
        "x += n\n    tl.load(x + 65537)",
        "z = x\n    tl.load(x + 65537)",
        "z = x + n\n    tl.load(z + 65537)",
        "x.load([65537, 0])",
    ],
)
def test_what_may_be_in_bounds_stays_there(body: str) -> None:
    assert results(find, KERNEL.format(body)) == []


@pytest.mark.parametrize(
    "more",
    [
        "f[(1,)](u, t, 3)\n",
        "@triton.jit\ndef g(y):\n    tl.store(y, 0)\n",
        "def g(y):\n    return y\n",
        "k = triton.jit(f)\n",
        "repeat(f)\n",
        "t = [u for u in range(3)]\n",
        "while t:\n    t = u\n",
    ],
)
def test_what_another_launch_may_do_stays_too(more: str) -> None:
    assert results(find, OUTSIDE) and not results(find, OUTSIDE + more)


def test_a_function_that_is_no_kernel_has_no_access() -> None:
    assert not results(find, OUTSIDE.replace("@triton.jit\n", ""))


def test_a_kernel_that_is_handed_on_may_be_launched_again() -> None:
    assert not results(find, OUTSIDE.replace("f[(1,)](t, u, 3)", "repeat(f)"))
