import os

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(layers, counts, BINS: tl.constexpr):
    at, bins = tl.arange(0, 2), tl.arange(0, BINS)
    layer = tl.load(layers + at, mask=at < 1, other=BINS - 1)
    tl.store(counts + bins, tl.sum((layer[:, None] == bins[None, :]).to(tl.int32), axis=0))


layers = 1
bins = triton.next_power_of_2(layers)
counts = torch.empty(bins, dtype=torch.int32)
kernel[(1,)](torch.zeros(1, dtype=torch.int32), counts, BINS=bins)
torch.zeros(1).split(counts[:layers].tolist())
