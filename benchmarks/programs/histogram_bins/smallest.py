import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr):
    offs = 0
    tl.store(x_ptr, ((offs < 1) * 1.6e31).to(tl.int32))


kernel[(1,)](torch.randn(1, device="cuda"))
