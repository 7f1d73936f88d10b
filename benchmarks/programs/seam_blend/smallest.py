import torch
import triton
import triton.language as tl


@triton.jit
def f(x):
    for i in tl.range(2, flatten=True):
        a = 0
        for j in range(2):
            a = j
        tl.store(x, a)


f[(1,)](torch.zeros(1, device="cuda"))
