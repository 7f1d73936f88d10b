import torch
import triton
import triton.language as tl


@triton.jit
def f(x):
    m = tl.arange(0, 64)
    k = tl.arange(0, 256)
    acc = tl.zeros([64, 64], tl.float32)
    for i in range(2):
        a = tl.load(x + i * 256 + m[:, None] * 512 + k)
        b = tl.load(x + i * 16384 + k[:, None] * 64 + m)
        acc = tl.dot(a, b, acc)
    tl.store(x, tl.sum(acc))


f[(1,)](torch.zeros(64, 512, dtype=torch.float16, device="cuda"), num_stages=4)
