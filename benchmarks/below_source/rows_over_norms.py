"""Rows divided by their norms, with the ptxas of a newer toolkit."""

import torch
import triton
import triton.language as tl


@triton.jit
def normalize(x, out, columns, SIZE: tl.constexpr):
    column = tl.arange(0, SIZE)
    place = tl.program_id(0) * columns + column
    row = tl.load(x + place, mask=column < columns, other=0.0)
    tl.store(out + place, row / tl.sqrt(tl.sum(row * row)), mask=column < columns)


x = torch.randn(8, 100, device="cuda")
out = torch.empty_like(x)
normalize[(8,)](x, out, 100, SIZE=128)
