"""A product of eight-bit integers, added to a total of 32 bits."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_product(a, b, total, SIZE: tl.constexpr):
    place = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    before = tl.load(total + place)
    tl.store(total + place, tl.dot(tl.load(a + place), tl.load(b + place), before))


a = torch.ones(64, 64, device="cuda", dtype=torch.int8)
b = torch.ones(64, 64, device="cuda", dtype=torch.int8)
total = torch.zeros(64, 64, device="cuda", dtype=torch.int32)
add_product[(1,)](a, b, total, SIZE=64)
