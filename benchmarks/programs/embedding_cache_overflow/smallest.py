import torch
import triton
import triton.language as tl


@triton.jit
def f(x, i):
    tl.store(x + i * 1024, 0)


f[(1,)](torch.zeros(2**31 + 1, dtype=torch.int8, device="cuda"), 2**21)
torch.cuda.synchronize()
