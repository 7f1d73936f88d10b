"""Ones, on a GPU for the desk."""

import torch
import triton
import triton.language as tl


@triton.jit
def ones(out, SIZE: tl.constexpr):
    tl.store(out + tl.arange(0, SIZE), 1.0)


out = torch.empty(64, device="cuda")
ones[(1,)](out, SIZE=64)
