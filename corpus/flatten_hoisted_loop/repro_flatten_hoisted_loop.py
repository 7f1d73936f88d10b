import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out):
    for tile in tl.range(2, flatten=True):
        norm = 0
        for tap in range(2):
            norm = (1 << 3) >> tap
        offs = tile * 4 + tl.arange(0, 4)
        tl.store(
            out + offs, tl.load(x_ptr + offs, mask=offs < 4, other=0.0) * (1 << 3) / norm,
            mask=offs < 4,
        )


kernel[(1,)](torch.zeros(4, device="cuda"), torch.zeros(4, device="cuda"))
