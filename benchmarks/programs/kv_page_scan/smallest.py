import torch
import triton
import triton.language as tl


@triton.jit
def f(x):
    a = tl.load(x)
    b = 0
    for i in tl.range(2, flatten=True):
        for j in range(2):
            a = tl.load(x)
        a += b
        b = a
    tl.store(x, a)


f[(1,)](torch.zeros(1, dtype=torch.int32, device="cuda"))
