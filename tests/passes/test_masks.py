from __future__ import annotations

import pytest

from shrinkray_gpu.passes import masks
from shrinkray_gpu.reduction.render import render
from tests.passes.offers import SAMPLES, assert_subsets_parse, offered, program, results


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


@pytest.mark.parametrize(("mask", "holds"), [("0 < 9", True), ("9 >= 9", True), ("9 < 0", False), ("i < 9", False)])
def test_two_numbers_compared_are_true(mask: str, holds: bool) -> None:
    text = "x = tl.load(p + 8, mask={}, other=0)\n"
    found = results(masks.find, text.format(mask))
    assert (text.format("True").strip() in found) is holds and text.format("False").strip() in found


LAUNCHED = "@triton.jit\ndef k(p, n):\n    tl.store(p, n, mask={} < n)\n\n\n{}\n"


@pytest.mark.parametrize(
    ("made", "launches", "first"),
    [
        ("tl.program_id(0)", "k[(1,)](x, 1)", True),
        ("tl.program_id(1)", "k[(4,)](x, 1)", True),
        ("tl.program_id(2)", "k[(4, 2, 1)](x, 1)", True),
        ("tl.program_id(0)", "k[(1,)](x, 1)\nk[(1, 3)](x, 2)", True),
        ("tl.program_id(1)", "k[(4, 2)](x, 1)", False),
        ("tl.program_id(2)", "k[(1, *rest)](x, 1)", False),
        ("tl.program_id(0)", "k[()](x, 1)", False),
        ("tl.program_id(0)", "k[(1,)](x, 1)\nk[(4,)](x, 1)", False),
        ("tl.program_id(0)", "k[grid](x, 1)", False),
        ("tl.program_id(0)", "k[(n,)](x, 1)", False),
        ("tl.program_id(0)", "k[(1,)](x, 1)\nrun(k)", False),
        ("tl.program_id(0)", "", False),
        ("tl.program_id(axis)", "k[(1,)](x, 1)", False),
        ("tl.num_programs(0)", "k[(1,)](x, 1)", False),
    ],
)
def test_the_only_program_has_number_0(made: str, launches: str, first: bool) -> None:
    text = LAUNCHED.format(made, launches)
    assert offered(masks.find, text, LAUNCHED.format("0", launches)) is first


def test_the_number_of_a_program_in_a_helper_is_its_caller_s() -> None:
    helper = "@triton.jit\ndef h(p, n):\n    tl.store(p, n, mask={} < n)\n\n\n"
    caller = "@triton.jit\ndef k(p, n):\n    h(p, n)\n\n\nk[(4,)](x, 1)\n"
    assert not offered(masks.find, helper.format("tl.program_id(0)") + caller, helper.format("0") + caller)


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
