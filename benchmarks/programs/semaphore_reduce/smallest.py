import torch
import triton
import triton.language as tl


@triton.jit
def f(counter, expected):
    tl.atomic_add(counter, 1)
    while tl.atomic_add(counter, 0) < expected:
        pass


f[(1,)](torch.zeros(1, dtype=torch.int32, device="cuda"), 2)
torch.cuda.synchronize()
