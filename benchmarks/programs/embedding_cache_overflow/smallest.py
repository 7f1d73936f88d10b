import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y):
    tl.load(x + y * 1024, volatile=True)


kernel[(1,)](torch.zeros(2147484672, dtype=torch.int8, device="cuda"), 2097152)
torch.cuda.synchronize()
