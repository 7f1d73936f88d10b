import torch
import triton
import triton.language as tl


@triton.jit
def f(x):
    i = tl.arange(0, 256)
    a = tl.load(x + i[:, None] + i)
    tl.store(x, tl.sum(tl.dot(a, a)))


f[(1,)](torch.zeros(511, device="cuda"))
