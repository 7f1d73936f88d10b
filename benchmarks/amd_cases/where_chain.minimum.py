import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a):
    tl.store(tl.where(tl.arange(0, 2) == 1, a, a + 1), 0)


kernel[(1,)](torch.zeros(1, device="cuda"))
