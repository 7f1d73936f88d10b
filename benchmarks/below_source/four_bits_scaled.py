"""Two matrices of four bits, with a float8 scale for each sixteen elements."""

import torch
import triton
import triton.language as tl


@triton.jit
def multiply(a, b, out, SIZE: tl.constexpr, DEPTH: tl.constexpr):
    index = tl.arange(0, SIZE)
    packed = tl.arange(0, DEPTH // 2)
    left = tl.load(a + index[:, None] * (DEPTH // 2) + packed[None, :])
    right = tl.load(b + packed[:, None] + index[None, :] * (DEPTH // 2))
    scale = tl.full((SIZE, DEPTH // 16), 1.0, tl.float32).to(tl.float8e4nv)
    product = tl.dot_scaled(left, scale, "e2m1", right, scale, "e2m1")
    tl.store(out + index[:, None] * SIZE + index[None, :], product)


a = torch.zeros(128, 64, device="cuda", dtype=torch.uint8)
b = torch.zeros(128, 64, device="cuda", dtype=torch.uint8)
out = torch.empty(128, 128, device="cuda")
multiply[(1,)](a, b, out, SIZE=128, DEPTH=128)
