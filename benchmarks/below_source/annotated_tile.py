"""A copy whose tile has a type annotation."""

import torch
import triton
import triton.language as tl


@triton.jit
def copy(x, out, SIZE: tl.constexpr):
    place = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    tile: tl.tensor = tl.load(x + place)
    tl.store(out + place, tile)


x = torch.randn(1024, device="cuda")
out = torch.empty_like(x)
copy[(4,)](x, out, SIZE=256)
