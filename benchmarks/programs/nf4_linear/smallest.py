import torch
import triton
import triton.language as tl


@triton.jit
def f(x):
    i = tl.load(x + tl.arange(0, 2)[:, None] + tl.arange(0, 2)[None, :])
    j = tl.load(x + tl.arange(0, 2)[:, None] + tl.arange(0, 32)[None, :])
    tl.store(x, tl.sum(tl.gather(i, j, 1)))


f[(1,)](torch.zeros(33, dtype=torch.int32, device="cuda"), num_warps=8)
