import torch
import triton
import triton.language as tl


@triton.jit
def f(x):
    while tl.atomic_add(x, 0) < 1:
        pass


f[(1,)](torch.zeros(1, device="cuda"))
torch.cuda.synchronize()
