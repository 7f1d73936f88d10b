"""A product over a long dimension that tells how far it came."""

import torch
import triton
import triton.language as tl


@triton.jit
def multiply(a, b, out, steps, SIZE: tl.constexpr):
    place = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    total = tl.zeros([SIZE, SIZE], tl.float32)
    for step in range(steps):
        tl.device_print("step", step)
        left = tl.load(a + step * SIZE * SIZE + place)
        right = tl.load(b + step * SIZE * SIZE + place)
        total = tl.dot(left, right, total)
    tl.store(out + place, total)


a = torch.randn(4, 64, 64, device="cuda", dtype=torch.float16)
b = torch.randn(4, 64, 64, device="cuda", dtype=torch.float16)
out = torch.empty(64, 64, device="cuda")
multiply[(1,)](a, b, out, 4, SIZE=64)
