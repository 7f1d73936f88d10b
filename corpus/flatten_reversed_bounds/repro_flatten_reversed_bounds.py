import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out, upper):
    total = 0.0
    for row in tl.range(2, flatten=True):
        for column in range(4, upper):
            total = tl.load(x_ptr + row * 4 + column)
        tl.store(out + row, total)


kernel[(1,)](torch.zeros(30, 4, device="cuda"), torch.zeros(30, device="cuda"), 4)
