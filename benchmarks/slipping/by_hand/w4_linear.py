import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, scales):
    i = tl.arange(0, 16)
    tile = tl.load(x + i[:, None] * 16 + i[None, :])
    scale = tl.load(scales + i)
    weight = tile * scale[None, :]
    tl.store(x + i[:, None] * 16 + i[None, :], tl.dot(tile, weight))


kernel[(1,)](torch.zeros(256, device="cuda", dtype=torch.float16), torch.zeros(16, device="cuda"))
