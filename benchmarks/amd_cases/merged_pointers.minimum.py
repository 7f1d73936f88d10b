import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, n):
    if n:
        a = b
    tl.store(a, 0)


kernel[(1,)](torch.zeros(1, device="cuda"), torch.zeros(2**29, device="cuda"), 2)
