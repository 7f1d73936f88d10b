"""Squares of the numbers from one that is read down to one."""

import torch
import triton
import triton.language as tl


@triton.jit
def squares(count, out):
    left = tl.load(count)
    while left:
        tl.store(out + left, left * left)
        left -= 1


count = torch.tensor([5], device="cuda", dtype=torch.int32)
out = torch.empty(6, device="cuda", dtype=torch.int32)
squares[(1,)](count, out)
