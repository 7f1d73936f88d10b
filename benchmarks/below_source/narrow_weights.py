"""Weights of eight bits, made half precision in the kernel, sixteen deep at a time."""

import torch
import triton
import triton.language as tl


@triton.jit
def multiply(x, weights, out, steps, SIZE: tl.constexpr, DEPTH: tl.constexpr):
    rows, deep = tl.arange(0, SIZE), tl.arange(0, DEPTH)
    total = tl.zeros([SIZE, SIZE], tl.float32)
    for step in range(steps):
        left = tl.load(x + rows[:, None] * steps * DEPTH + step * DEPTH + deep[None, :])
        right = tl.load(weights + (step * DEPTH + deep[:, None]) * SIZE + rows[None, :])
        total = tl.dot(left, right.to(tl.float16), total)
    tl.store(out + rows[:, None] * SIZE + rows[None, :], total)


x = torch.randn(32, 64, device="cuda", dtype=torch.float16)
weights = torch.ones(64, 32, device="cuda", dtype=torch.int8)
out = torch.empty(32, 32, device="cuda")
multiply[(1,)](x, weights, out, 4, SIZE=32, DEPTH=16)
