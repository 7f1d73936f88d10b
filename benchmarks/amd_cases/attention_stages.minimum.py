import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a):
    i = tl.arange(0, 16)
    p = a + i[:, None] + i
    x = tl.zeros([16, 16], tl.float32)
    for j in range(2):
        y = tl.load(p + j)
        x += tl.dot((tl.dot(y, y) + y).to(tl.float16), y)
    tl.store(p, x)


kernel[(1,)](torch.zeros(1, device="cuda", dtype=torch.float16), num_stages=4)
