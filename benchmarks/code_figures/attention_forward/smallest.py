import torch
import triton
import triton.language as tl


@triton.jit
def kernel(q, k, v, out, length, stride):
    row = tl.program_id(0) * 128 + tl.arange(0, 128)
    lane = tl.arange(0, 128)
    query = tl.load(q + row[:, None] * stride + lane[None, :])
    result = tl.zeros((128, 128), tl.float32)
    weight = tl.zeros((128,), tl.float32)
    highest = tl.full((128,), -float("inf"), tl.float32)
    for first in range(0, length, 64):
        key = first + tl.arange(0, 64)
        score = tl.dot(query, tl.load(k + key[None, :] * stride + lane[:, None]))
        higher = tl.maximum(highest, tl.max(score, 1))
        share = tl.exp(score - higher[:, None])
        less = tl.exp(highest - higher)
        weight = weight * less + tl.sum(share, 1)
        result = result * less[:, None]
        result += tl.dot(share.to(tl.float16), tl.load(v + key[:, None] * stride + lane[None, :]))
        highest = higher
    tl.store(out + row[:, None] * stride + lane[None, :], (result / weight[:, None]).to(tl.float16))


x = torch.zeros(128, 128, device="cuda", dtype=torch.float16)
kernel[(1,)](x, x, x, x, 128, 128, num_warps=4, num_stages=1)
