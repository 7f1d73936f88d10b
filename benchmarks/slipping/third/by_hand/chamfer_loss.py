import os

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, out):
    i = tl.arange(0, 2)
    there = tl.load(b + i, mask=i < 1, other=0.0)
    distance = tl.load(a) - there
    tl.store(out, tl.min(distance * distance, axis=0))


a, b, out = torch.ones(1), torch.full((1,), 3.0), torch.empty(1)
kernel[(1,)](a, b, out)
torch.testing.assert_close(out.mean(), (a - b).square().mean())
