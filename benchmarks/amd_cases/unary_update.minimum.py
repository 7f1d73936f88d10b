import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a):
    x = tl.zeros([1], tl.float32)
    for i in range(2):
        x = tl.exp(tl.sum(tl.load(a + i + tl.arange(0, 1024)[None, :]), 1))
    tl.store(a + tl.arange(0, 1), x)


kernel[(1,)](torch.zeros(1, device="cuda"))
