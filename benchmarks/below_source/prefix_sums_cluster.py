"""Prefix sums of rows, by a cluster of two."""

import torch
import triton
import triton.language as tl


@triton.jit
def prefix_sums(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    place = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(out + place, tl.cumsum(tl.load(x + place), axis=1))


x = torch.randn(64, 64, device="cuda")
out = torch.empty_like(x)
prefix_sums[(1,)](x, out, ROWS=64, COLUMNS=64, num_ctas=2)
