"""In each of eight rows, eight looks at two entries."""

import torch
import triton
import triton.language as tl


@triton.jit
def lookup(x, out, ROWS: tl.constexpr, ENTRIES: tl.constexpr, COUNT: tl.constexpr):
    entries = tl.load(x + tl.reshape(tl.arange(0, ROWS * ENTRIES), (ROWS, ENTRIES)))
    place = tl.reshape(tl.arange(0, ROWS * COUNT), (ROWS, COUNT))
    tl.store(out + place, tl.gather(entries, place % ENTRIES, 1))


x = torch.randn(8, 2, device="cuda")
out = torch.empty(8, 8, device="cuda")
lookup[(1,)](x, out, ROWS=8, ENTRIES=2, COUNT=8, num_warps=2)
