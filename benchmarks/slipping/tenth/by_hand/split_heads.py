import torch
import triton
import triton.language as tl


@triton.jit
def score_kernel(q, PART: tl.constexpr):
    at = tl.arange(0, 32)[:, None] * PART + tl.arange(0, PART)[None, :]
    left = tl.load(q + at)
    tl.store(q + tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :], tl.dot(left, left.T))


dim, parts = 32, 1
while parts < dim // 4:
    parts *= 2
score_kernel[(1,)](torch.zeros(32, 32, dtype=torch.float16, device="cuda"), PART=dim // parts)
