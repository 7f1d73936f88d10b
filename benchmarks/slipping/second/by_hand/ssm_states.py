import torch
import triton
import triton.language as tl


@triton.jit
def kernel(state, rates):
    h = tl.load(state)
    for _ in range(1):
        h = h * tl.load(rates)


like = torch.zeros(1, device="cuda", dtype=torch.bfloat16)
kernel[(1,)](like.new_zeros(1), torch.ones(1, device="cuda"))
