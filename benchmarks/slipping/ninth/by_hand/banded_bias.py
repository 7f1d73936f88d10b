import torch
import triton
import triton.language as tl


@triton.jit
def kernel(sums, out, queries, keys):
    q = tl.arange(0, 16)
    total = tl.load(sums + q, mask=q < keys, other=1.0)
    tl.store(out + q, total, mask=q < queries)


kernel[(1,)](torch.ones(8, device="cuda"), torch.empty(8, device="cuda"), 8, 100)
torch.cuda.synchronize()
