from __future__ import annotations

import pytest

from shrinkray_gpu.passes import masks
from shrinkray_gpu.reduction.render import render
from tests.passes.offers import SAMPLES, assert_subsets_parse, offered, program, results


def test_nothing_through() -> None:
    assert results(masks.find, "tl.store(p + i, x, mask=i < n)\n") == ["tl.store(p + i, x, mask=False)"]
    assert results(masks.find, "tl.store(p + i, x, mask=False)\n") == []


def test_the_half_that_is_shut_is_enough_and_the_other_is_not() -> None:
    source = "tl.store(p, x, mask=(i < 0)[:, None] & (j < n)[None, :])\n"
    assert "tl.store(p, x, mask=(i < 0)[:, None])" in results(masks.find, source)
    assert not any(text.endswith("mask=(j < n)[None, :])") for text in results(masks.find, source))


@pytest.mark.parametrize(("mask", "holds"), [("0 < 9", True), ("9 >= 9", True), ("9 < 0", False), ("i < 9", False)])
def test_two_numbers_compared_are_true(mask: str, holds: bool) -> None:
    text = "x = tl.load(p + 8, mask={}, other=0)\n"
    found = results(masks.find, text.format(mask))
    assert (text.format("True").strip() in found) is holds and text.format("False").strip() in found


def test_no_guard_is_lost() -> None:
    start = program("x = tl.load(p + i, mask=(i < 0) & (i < n), other=0.0)\n")
    for edit in masks.find(start):
        assert render(start, [edit]).size.guards == start.size.guards, edit.what


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_any_subset_parses(sample) -> None:  # type: ignore[no-untyped-def]
    assert_subsets_parse(masks.find, sample)


ZEROS = """
import triton.language as tl
@triton.jit
def k(x):
    r = tl.zeros([8], tl.int32)
    c = tl.zeros([16], tl.int32)
    print(tl.load(x + c, mask=(r < 1)[:, None] & (c < 2)[None, :], other=0.0))
"""


def test_one_tile_for_rows_and_columns_that_are_zeros() -> None:
    want = """
    import triton.language as tl
    @triton.jit
    def k(x):
        c = tl.zeros([16], tl.int32)
        print(tl.load(x + c, mask=tl.zeros([8, 16], tl.int32) < 1, other=0.0))
    """
    assert offered(masks.find, ZEROS, want)


@pytest.mark.parametrize(
    "other", [("c < 2", "c < 0"), ("c < 2", "c < n"), ("zeros([8]", "full([8]"), ("[:, None]", "[None, :]")]
)
def test_a_tile_that_would_let_more_through_is_not_offered(other: tuple[str, str]) -> None:
    edits = masks.find(program(ZEROS.replace(*other)))
    assert not [edit for edit in edits if edit.what.startswith("one tile")]
