import torch
import triton
import triton.language as tl


@triton.jit
def f(x, y):
    tl.store(y, tl.load(x).to(tl.int32))


f[(1,)](torch.full((1,), 1e10, device="cuda"), torch.zeros(1, dtype=torch.int32, device="cuda"))
