"""The sum of a vector, by a cluster of two."""

import torch
import triton
import triton.language as tl


@triton.jit
def sum_up(x, out, SIZE: tl.constexpr):
    tl.store(out, tl.sum(tl.load(x + tl.arange(0, SIZE)), axis=0))


x = torch.randn(1024, device="cuda")
out = torch.empty(1, device="cuda")
sum_up[(1,)](x, out, SIZE=1024, num_ctas=2)
