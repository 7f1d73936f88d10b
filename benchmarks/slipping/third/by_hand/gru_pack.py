import os

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(weight, out):
    unit = tl.arange(0, 2)
    tl.store(out + unit, tl.load(weight + unit))


def packed(weight):
    return weight.t().to(torch.float32)


weight, out = torch.tensor([[0.0, 1.0], [2.0, 3.0]]), torch.empty(2)
kernel[(1,)](packed(weight), out)
error = (out - weight[:, 0]).abs().max()
assert error < 1e-4, f"the cells differ by {error}"
