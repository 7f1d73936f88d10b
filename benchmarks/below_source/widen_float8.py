"""Weights in float8, widened to bfloat16."""

import torch
import triton
import triton.language as tl


@triton.jit
def widen(weights, out, count, SIZE: tl.constexpr):
    place = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    inside = place < count
    tl.store(out + place, tl.load(weights + place, mask=inside).to(tl.bfloat16), mask=inside)


weights = torch.randn(1000, device="cuda").to(torch.float8_e4m3fn)
out = torch.empty(1000, device="cuda", dtype=torch.bfloat16)
widen[(triton.cdiv(1000, 256),)](weights, out, 1000, SIZE=256)
