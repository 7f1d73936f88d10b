"""Two products at once, over a long dimension."""

import torch
import triton
import triton.language as tl


@triton.jit
def multiply(a, b, out, steps, SIZE: tl.constexpr):
    square = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    place = tl.arange(0, 2)[:, None, None] * SIZE * SIZE + square[None, :, :]
    total = tl.zeros([2, SIZE, SIZE], tl.float32)
    for step in range(steps):
        left = tl.load(a + step * 2 * SIZE * SIZE + place)
        right = tl.load(b + step * 2 * SIZE * SIZE + place)
        total += tl.dot(left, right)
    tl.store(out + place, total)


a = torch.randn(4, 2, 32, 32, device="cuda", dtype=torch.float16)
b = torch.randn(4, 2, 32, 32, device="cuda", dtype=torch.float16)
out = torch.empty(2, 32, 32, device="cuda")
multiply[(1,)](a, b, out, 4, SIZE=32)
