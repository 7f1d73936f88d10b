"""The sum of two bfloat16 vectors, on an older GPU."""

import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, SIZE: tl.constexpr):
    place = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    tl.store(out + place, tl.load(x + place) + tl.load(y + place))


x = torch.randn(512, device="cuda", dtype=torch.bfloat16)
y = torch.randn(512, device="cuda", dtype=torch.bfloat16)
out = torch.empty_like(x)
add[(2,)](x, y, out, SIZE=256)
