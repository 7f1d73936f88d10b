import torch
import triton
import triton.language as tl


@triton.jit
def f(x):
    tl.store(x + 2**28, 0)


f[(1,)](torch.zeros(1, device="cuda"))
torch.cuda.synchronize()
