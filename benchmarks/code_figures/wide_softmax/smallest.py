import torch
import triton
import triton.language as tl


@triton.jit
def kernel(logits, probabilities, stride, n):
    column = tl.arange(0, 32768)[None, :]
    at = tl.program_id(0) * stride + column
    value = tl.load(logits + at, mask=column < n, other=-float("inf")).to(tl.float32)
    shifted = tl.exp(value - tl.max(value, 1)[:, None])
    tl.store(probabilities + at, shifted / tl.sum(shifted, 1)[:, None], mask=column < n)


x = torch.zeros(32768, device="cuda")
kernel[(1,)](x.half(), x, 32000, 32000, num_warps=4, num_stages=2)
