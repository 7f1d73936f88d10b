"""A batch of float8 matrices with one scale for each 32 elements."""

import torch
import triton
import triton.language as tl


@triton.jit
def multiply(a, scales, out, BATCH: tl.constexpr, SIZE: tl.constexpr, DEPTH: tl.constexpr):
    item = tl.arange(0, BATCH)[:, None, None]
    index = tl.arange(0, SIZE)
    deep = tl.arange(0, DEPTH)
    block = tl.arange(0, DEPTH // 32)
    base = item * SIZE * DEPTH
    left = tl.load(a + base + index[None, :, None] * DEPTH + deep[None, None, :])
    right = tl.load(a + base + deep[None, :, None] + index[None, None, :] * DEPTH)
    scale = tl.load(scales + (item * SIZE + index[None, :, None]) * (DEPTH // 32) + block[None, None, :])
    product = tl.dot_scaled(left, scale, "e4m3", right, scale, "e4m3")
    tl.store(out + (item * SIZE + index[None, :, None]) * SIZE + index[None, None, :], product)


a = torch.zeros(2, 64, 64, device="cuda").to(torch.float8_e4m3fn)
scales = torch.full((2, 64, 2), 127, device="cuda", dtype=torch.uint8)
out = torch.empty(2, 64, 64, device="cuda")
multiply[(1,)](a, scales, out, BATCH=2, SIZE=64, DEPTH=64)
