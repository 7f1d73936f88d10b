import torch
import triton
import triton.language as tl


@triton.jit
def kernel(out, tiles, right):
    rows = (tiles - 1) * 32 + tl.arange(0, 32)
    tl.store(out + rows * right, 0)


kernel[(1,)](torch.empty(47008, 46000, dtype=torch.uint8, device="cuda"), 1469, 46000)
torch.cuda.synchronize()
