"""Offsets from pairs of constants."""

import torch
import triton
import triton.language as tl


@triton.jit
def fill(out, SIZE: tl.constexpr):
    sums: tl.constexpr = [first + second for first, second in ((1, 2), (3, 4))]
    place = tl.arange(0, SIZE)
    tl.store(out + place, place * sums[0] + sums[1])


out = torch.empty(128, device="cuda", dtype=torch.int32)
fill[(1,)](out, SIZE=128)
