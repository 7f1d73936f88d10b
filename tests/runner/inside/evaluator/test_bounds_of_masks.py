"""What a mask compares with is one too many, and nothing else in the kernel is taken for its bound."""

from __future__ import annotations

from shrinkray_gpu.runner.inside.static.cause import SWAPPED, TRIP, WRONG_MASK
from shrinkray_gpu.runner.run import Launch, Run
from tests.runner.inside.conftest import Play
from tests.runner.inside.evaluator.test_indices import causes

FLAT = """
import torch, triton, triton.language as tl


@triton.jit
def flat(x, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.device_print("", tl.load(x + at, mask=at <= n, other=0.0))


x = torch.zeros(6, 96, device="cuda")
flat[(2,)](x, 576, B=512)
"""

GROUPS = """
import torch, triton, triton.language as tl


@triton.jit
def groups(x, size):
    of, column = tl.arange(0, 4)[:, None], tl.arange(0, 8)[None, :]
    at = (tl.program_id(0) * size + of) * 8 + column
    tl.device_print("", tl.load(x + at, mask=of <= size, other=0.0))


groups[(2,)](torch.zeros(2, 2, 8, device="cuda"), 2)
"""
"""Heads in groups: the size of one is in the address as well as in the mask."""

WINDOW = """
import torch, triton, triton.language as tl


@triton.jit
def window(x, cols, stride, WINDOW: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    for k in range(WINDOW):
        tl.device_print("", tl.load(x + row * stride + at + k, mask=at < cols, other=0.0))


window[(6, 2)](torch.zeros(6, 24, device="cuda"), 24, 24, WINDOW=3, BLOCK=16)
"""

WALK = """
import torch, triton, triton.language as tl


@triton.jit
def walk(x, rows, columns, stride, step, R: tl.constexpr, C: tl.constexpr):
    row, column = tl.arange(0, R), tl.arange(0, C)
    at = x + row[:, None] * stride + column[None, :] * step
    for trip in range(columns // C + 1):
        tl.device_print("", tl.load(at, mask=row[:, None] < rows, other=0.0))
        at += C * step


walk[(1,)](torch.zeros(40, 64, device="cuda"), 40, 64, 64, 1, R=64, C=32)
"""
"""A pointer that a loop carries, by a step of 1 that the kernel is compiled for, so that the IR has no stride there."""

BLOCKS = """
import torch, triton, triton.language as tl


@triton.jit
def blocks(x, rows, columns, C: tl.constexpr):
    block = tl.make_block_ptr(x, (rows, columns), (columns, 1), (0, tl.program_id(0) * C), (16, C), (1, 0))
    tl.device_print("", tl.load(block, boundary_check=(0,)))


blocks[(2,)](torch.zeros(16, 24, device="cuda"), 16, 24, C=16)
"""


def test_the_size_of_a_block_is_no_extent(play: Play) -> None:
    """With blocks of six elements all is inside, too, as with any small number."""
    found = causes(play, FLAT)
    assert found is not None and found.causes[0].kind == WRONG_MASK and found.causes[0].by_one, found
    assert causes(play, FLAT.replace("<= n", "< n")) is None


def test_one_less_in_the_mask_leaves_the_address_as_it_is(play: Play) -> None:
    """Where the mask is true everywhere, no `<` for `<=` mends it: the address goes too far by itself."""
    mine = causes(play, GROUPS)
    assert mine is not None and mine.causes[0].kind == WRONG_MASK and mine.causes[0].by_one, mine
    assert causes(play, GROUPS.replace("<= size", "< size")) is None
    other = GROUPS.replace("tl.arange(0, 4)[:, None]", "tl.arange(0, 2)[:, None]").replace("size + of", "2 * size + of")
    theirs = causes(play, other)
    assert theirs is not None and theirs.causes[0].kind == WRONG_MASK and not theirs.causes[0].by_one, theirs


def test_an_index_that_the_mask_does_not_see_stays_out_of_it(play: Play) -> None:
    """The row twice in the address leaves the tensor as well, under the same mask. Its fix is another one."""
    mine = causes(play, WINDOW)
    assert mine is not None and mine.causes[0].kind == WRONG_MASK and mine.causes[0].unseen == ("trip",), mine
    assert causes(play, WINDOW.replace("at < cols", "at + k < cols")) is None
    twice = WINDOW.replace("at = tl.program_id(1) * BLOCK", "at = row").replace("row * stride + at + k", "row + at")
    theirs = causes(play, twice.replace("zeros(6, 24", "zeros(24"))
    assert theirs is not None and theirs.causes[0].kind == WRONG_MASK and theirs.causes[0].unseen == (), theirs


def test_a_trip_too_many_is_neither_two_strides_in_the_wrong_order_nor_a_row_too_many(play: Play) -> None:
    """With 64 and 1 the other way round all is inside, if the step of the loop stays 32. So it is with a row less."""
    mine = causes(play, WALK)
    assert mine is not None and mine.causes[0].kind == WRONG_MASK, mine
    assert mine.causes[0].beyond == (TRIP,) and not mine.causes[0].by_one, mine
    assert causes(play, WALK.replace(" // C + 1", " // C")) is None
    turned = causes(play, WALK.replace("64, 64, 1, R", "64, 1, 64, R").replace(" // C + 1", " // C"))
    assert turned is not None and turned.causes[0].kind == SWAPPED, turned


def test_a_loop_that_leads_beyond_the_tensor_ends_where_it_did(play: Play) -> None:
    """With a number for its end nobody sees that this is one trip too many, nor with many too many, nor with half a
    block."""
    mine = causes(play, WALK)
    assert mine is not None and mine.difference(_run(play, WALK.replace("= x", "= x + 0"))) == ""
    numbered = _run(play, WALK.replace("columns // C + 1", "3"))
    assert mine.difference(numbered) == "the loop that leads beyond the tensor ends at fewer values that are passed"
    more = WALK.replace("columns // C", "columns").replace("40, 64, 64, 1", "40, 8, 64, 1")
    assert mine.difference(_run(play, more)).endswith("of another sort instead of in the last trip alone")
    narrow = _run(play, WALK.replace("zeros(40, 64", "zeros(40, 16").replace("40, 64, 64, 1", "40, 16, 16, 1"))
    assert mine.difference(narrow) and narrow.launches[0].causes[0].beyond == ("range",)


def test_what_a_loop_s_end_is_computed_of_is_asked_for(play: Play) -> None:
    """So the tensor is not too small. What the kernel compares to see whether a product wraps asks for nothing."""
    mine = causes(play, WALK)
    assert mine is not None and mine.causes[0].sized, mine
    counted = WALK.replace("columns // C + 1", "columns + 1").replace("40, 64, 64, 1", "40, 2, 64, 1")
    theirs = causes(play, counted)
    assert theirs is not None and theirs.causes[0].beyond == (TRIP,) and not theirs.causes[0].sized, theirs


def test_the_size_of_a_block_without_a_range_is_no_stride(play: Play) -> None:
    mine = causes(play, BLOCKS)
    assert mine is not None and mine.causes[0].kind == WRONG_MASK, mine
    assert causes(play, BLOCKS.replace("(0,))", "(0, 1))")) is None


def _run(play: Play, text: str) -> Run:
    found = causes(play, text)
    assert found is not None
    launch = Launch("walk", "0", (1,), synced=True, causes=found.causes, unfollowed="")
    return Run("virtual", 1, virtual=True, launches=(launch,))


STRIP = """
import torch, triton, triton.language as tl


@triton.jit
def strip(x, depth, stride_row, stride_depth, B: tl.constexpr):
    k = tl.arange(0, B)
    at = x + tl.program_id(0) * 8 * stride_row + k * stride_depth
    for row in range(8):
        for start in range(0, depth, B):
            tl.device_print("", tl.load(at, mask=k < depth - start, other=0.0))
            at += B * stride_depth
        at += stride_row - depth * stride_depth


strip[(5,)](torch.zeros(40, 200, device="cuda"), 200, 200, 1, B=64)
"""


def test_the_length_of_a_row_that_goes_back_is_no_second_stride(play: Play) -> None:
    """With a stride of 1 for the rows all is inside, too. But the pointer goes back by too little after each row."""
    found = causes(play, STRIP)
    assert found is not None and found.causes[0].kind == WRONG_MASK, found
    assert causes(play, STRIP.replace("- depth * stride", "- tl.cdiv(depth, B) * B * stride")) is None
