"""What a mask compares with is one too many, and nothing else in the kernel is taken for its bound."""

from __future__ import annotations

from shrinkray_gpu.runner.inside.static.cause import WRONG_MASK
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
