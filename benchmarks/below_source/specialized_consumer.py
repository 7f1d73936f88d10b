"""A product over a long dimension, in a loop that asks for specialised warps."""

import torch
import triton
import triton.language as tl


@triton.jit
def multiply(a, b, out, steps, SIZE: tl.constexpr):
    place = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    total = tl.zeros([SIZE, SIZE], tl.float32)
    for step in tl.range(0, steps, warp_specialize=True):
        left = tl.load(a + step * SIZE * SIZE + place)
        right = tl.load(b + step * SIZE * SIZE + place)
        total = tl.dot(left, right, total)
    tl.store(out + place, total)


a = torch.randn(8, 64, 64, device="cuda", dtype=torch.float16)
b = torch.randn(8, 64, 64, device="cuda", dtype=torch.float16)
out = torch.empty(64, 64, device="cuda")
multiply[(1,)](a, b, out, 8, SIZE=64)
