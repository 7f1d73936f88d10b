"""The larger of two bfloat16 vectors, by a comparison."""

import torch
import triton
import triton.language as tl


@triton.jit
def larger(x, y, out, SIZE: tl.constexpr):
    place = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    left = tl.load(x + place)
    right = tl.load(y + place)
    tl.store(out + place, tl.where(left > right, left, right))


x = torch.randn(512, device="cuda", dtype=torch.bfloat16)
y = torch.randn(512, device="cuda", dtype=torch.bfloat16)
out = torch.empty_like(x)
larger[(2,)](x, y, out, SIZE=256)
