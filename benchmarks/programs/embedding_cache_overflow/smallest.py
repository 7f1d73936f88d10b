import torch
import triton
import triton.language as tl


@triton.jit
def f(x, slots):
    tl.store(x, tl.load(x + tl.load(slots) * 1024))


slots = torch.tensor([2**21], dtype=torch.int32, device="cuda")
f[(1,)](torch.zeros(2**21 + 1, 1024, dtype=torch.int8, device="cuda"), slots)
torch.cuda.synchronize()
