import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, n):
    p = b + tl.arange(0, 1)
    if n:
        p = a + tl.arange(0, 1)
    tl.store(p, 0)


kernel[(1,)](torch.zeros(1, device="cuda"), torch.zeros(2**29, device="cuda"), 2)
