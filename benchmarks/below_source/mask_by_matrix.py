"""The sum of those rows that are marked, by a product with the marks."""

import torch
import triton
import triton.language as tl


@triton.jit
def pick(marks, x, out, steps, SIZE: tl.constexpr):
    place = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    total = tl.zeros([SIZE, SIZE], tl.float32)
    for step in range(steps):
        marked = tl.load(marks + step * SIZE * SIZE + place) > 0
        rows = tl.load(x + step * SIZE * SIZE + place)
        total = tl.dot(marked.to(tl.float16), rows, total)
    tl.store(out + place, total)


marks = torch.ones(4, 32, 32, device="cuda", dtype=torch.float16)
x = torch.randn(4, 32, 32, device="cuda", dtype=torch.float16)
out = torch.empty(32, 32, device="cuda")
pick[(1,)](marks, x, out, 4, SIZE=32)
