import os

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(values, decays):
    i = tl.arange(0, 2)
    tl.store(values + i, tl.load(values + i) * (1.0 - tl.load(decays + i)))


parameters = [torch.ones(1), torch.ones(1, 1)]
ordered = sorted(parameters, key=lambda p: p.ndim < 2)
decays = torch.tensor([0.1 if p.ndim > 1 else 0.0 for p in parameters])
values = torch.cat([p.flatten() for p in ordered])
kernel[(1,)](values, decays)
torch.testing.assert_close(values, torch.tensor([0.9 if p.ndim > 1 else 1.0 for p in ordered]))
