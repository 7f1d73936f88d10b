import os

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, scores, out):
    peak = float("-inf")
    total = 0.0
    pooled = 0.0
    for frame in range(2):
        score = tl.load(scores + frame)
        above = tl.maximum(peak, score)
        shrink = tl.exp(peak - above)
        weight = tl.exp(score - above)
        total = total * shrink + weight
        pooled = pooled + weight * tl.load(x + frame)
        peak = above
    tl.store(out, pooled / total)


x, out = torch.tensor([1.0, 2.0]), torch.empty(1)
kernel[(1,)](x, x, out)
error = (out - torch.softmax(x, 0) @ x).abs().max()
if error > 1e-4:
    raise SystemExit(f"pooled vectors are off by {error}")
