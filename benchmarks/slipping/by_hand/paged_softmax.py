import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x):
    q = tl.load(x + tl.arange(0, 16))
    peak = tl.full([16], 0.0, q.dtype)
    for start in range(2):
        peak = tl.maximum(peak, q.to(tl.float32))
    tl.store(x + tl.arange(0, 16), peak)


kernel[(1,)](torch.zeros(16, device="cuda", dtype=torch.float16))
