import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, rows):
    at = x + tl.arange(0, 8192)
    sum_w = tl.zeros([8192], tl.float32)
    sum_b = tl.zeros([8192], tl.float32)
    w = tl.load(at)
    for row in range(rows):
        grad = tl.load(at + row)
        value = tl.load(at + row)
        hat = value * tl.load(x)
        weighted = w * grad
        c1 = tl.sum(hat * weighted, 0)
        c2 = tl.sum(weighted, 0)
        tl.store(at + row, weighted - (hat * c1 + c2))
        sum_w += grad * hat
        sum_b += grad
    tl.store(at, sum_w)
    tl.store(at, sum_b)


kernel[(1,)](torch.zeros(9999, device="cuda"), 8, num_warps=4)
