import os

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, gain):
    tl.store(out, tl.load(x) * gain)


gains = {}
for channel, x in enumerate((torch.ones(1), torch.full((1,), 2.0))):
    key = "name"
    if key not in gains:
        gains[key] = 1 / x.item()
    out = torch.empty(1)
    kernel[(1,)](x, out, gains[key])
    torch.testing.assert_close(out, x / x)
