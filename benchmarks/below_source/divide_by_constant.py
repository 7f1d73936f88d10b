"""What is divided only where that is asked for, which here it is not: the divisor is zero."""

import torch
import triton
import triton.language as tl


@triton.jit
def shares(out, divide, PARTS: tl.constexpr, SIZE: tl.constexpr):
    place = tl.arange(0, SIZE)
    value = tl.full((SIZE,), PARTS, tl.int32)
    if divide:
        value = tl.full((SIZE,), 1, tl.int32) // value
    tl.store(out + place, value)


out = torch.empty(64, device="cuda", dtype=torch.int32)
shares[(1,)](out, False, PARTS=0, SIZE=64)
