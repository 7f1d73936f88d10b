import triton
import triton.language as tl
import torch


@triton.jit
def kernel(x, PAIRS: tl.constexpr, HALF: tl.constexpr):
    tl.store(x + tl.arange(0, PAIRS), tl.load(x + tl.arange(0, PAIRS)) * tl.load(x + tl.arange(0, HALF)))


dim = 64
rotary_dim = dim // 2
kernel[(1,)](torch.empty(dim, device="cuda"), PAIRS=dim // 2, HALF=rotary_dim // 2)
