from __future__ import annotations

import pytest

from shrinkray_gpu.passes.kernel import masks
from shrinkray_gpu.reduction.rendering.render import render
from tests.passes.offers import offered, program, results


def test_nothing_through() -> None:
    assert results(masks.find, "tl.store(p + i, x, mask=i < n)\n") == ["tl.store(p + i, x, mask=False)"]
    assert results(masks.find, "tl.store(p + i, x, mask=False)\n") == []


def test_nothing_through_where_the_mask_has_no_name() -> None:
    source = "@triton.jit\ndef k(p, n, d):\n    {}\n"
    load, store = "print(tl.load(p + 1, {}, 0))", "tl.store(p, {}, {})"
    assert offered(masks.find, source.format(load.format("1 < n")), source.format(load.format("False")))
    assert offered(masks.find, source.format(store.format("n", "1 < n")), source.format(store.format("n", "False")))
    assert results(masks.find, source.format("d.store([0, n], d.load([n, 0]))")) == []


HALVES = "@triton.jit\ndef k(p, j, n):\n    i = {}\n    tl.store(p, n, mask={})\n"


def test_the_half_that_is_shut_is_enough_and_the_other_is_not() -> None:
    source = HALVES.format("tl.arange(0, 8)", "(i < 0)[:, None] & (j < n)[None, :]")
    assert offered(masks.find, source, HALVES.format("tl.arange(0, 8)", "(i < 0)[:, None]"))
    assert not offered(masks.find, source, HALVES.format("tl.arange(0, 8)", "(j < n)[None, :]"))


@pytest.mark.parametrize(
    ("value", "shut"),
    [
        ("tl.zeros([8], tl.int32)[None, :]", True),
        ("tl.program_id(0) * 8 + tl.arange(0, 8)", True),
        ("tl.load(p)", False),
        ("tl.arange(0, 8) - 1", False),
        ("tl.arange(-4, 4)", False),
        ("-1", False),
        ("n", False),
        ("8; i -= 9", False),
    ],
)
def test_shut_is_only_what_is_below_zero_nowhere(value: str, shut: bool) -> None:
    assert offered(masks.find, HALVES.format(value, "(i < 0) & (j < n)"), HALVES.format(value, "i < 0")) is shut
    assert not offered(masks.find, HALVES.format(value, "(j < 0) & (j < n)"), HALVES.format(value, "j < 0"))


def test_no_guard_is_lost() -> None:
    start = program("x = tl.load(p + i, mask=(i < 0) & (i < n), other=0.0)\n")
    for edit in masks.find(start):
        assert render(start, [edit]).size.guards == start.size.guards, edit.what
