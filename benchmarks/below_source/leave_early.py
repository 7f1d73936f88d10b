"""A helper that hands a tile back untouched where nothing is to be done."""

import torch
import triton
import triton.language as tl


@triton.jit
def scaled(tile, times):
    if times == 0:
        return tile
    return tile * times


@triton.jit
def scale(x, times, SIZE: tl.constexpr):
    place = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    tl.store(x + place, scaled(tl.load(x + place), times))


x = torch.randn(4 * 256, device="cuda")
scale[(4,)](x, 3, SIZE=256)
