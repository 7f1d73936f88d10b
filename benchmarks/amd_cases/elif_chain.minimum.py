import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a, n):
    if n:
        a += 1
        if n > 2:
            return
    tl.store(a, 0)


kernel[(1,)](torch.zeros(1, device="cuda"), 2)
