import torch
import triton
import triton.language as tl


@triton.jit
def levels_kernel(pyramid, side):
    level_at = pyramid
    size = side * side
    for level in range(3):
        at = level_at
        for start in range(0, size, 64):
            tl.store(at + tl.arange(0, 64), 0.0)
            at += 64
        size = size * 4
        level_at += size


levels_kernel[(1,)](torch.empty(64 + 256 + 1024, device="cuda"), 8)
torch.cuda.synchronize()
