import torch
import triton
import triton.language as tl


@triton.jit
def f(x, n):
    for i in tl.range(2, flatten=True):
        a = 1
        for j in range(2):
            a = a * n
        tl.store(x + i, a)


f[(1,)](torch.zeros(2, device="cuda"), 2)
