import torch
import triton
import triton.language as tl


@triton.jit(noinline=True)
def g(x):
    return tl.load(x + tl.arange(0, 1))


@triton.jit
def f(x):
    g(x)


f.warmup(torch.float32, grid=(1,))
