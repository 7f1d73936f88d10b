import torch
import triton
import triton.language as tl


@triton.jit
def lengths_kernel(offsets, divisors):
    tl.store(divisors, tl.maximum(tl.load(offsets + 1) - tl.load(offsets), 0))


@triton.jit
def pool_kernel(out, divisors):
    tl.store(out, tl.load(out) // tl.load(divisors))


offsets = torch.zeros(2, device="cuda", dtype=torch.int32)
divisors = torch.empty(1, device="cuda", dtype=torch.int32)
lengths_kernel[(1,)](offsets, divisors)
pool_kernel[(1,)](torch.ones_like(offsets), divisors)
torch.cuda.synchronize()
