import torch
import triton
import triton.language as tl


@triton.jit
def f(x, i):
    a = tl.load(x + tl.multiple_of(i * i, 16) + tl.arange(0, 128))
    tl.store(x + tl.arange(0, 128), a)


f[(1,)](torch.zeros(137, device="cuda"), 3, num_warps=1)
torch.cuda.synchronize()
