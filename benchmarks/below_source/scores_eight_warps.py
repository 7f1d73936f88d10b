"""Scores, values, and a second product of the same rows, as in a backward kernel."""

import torch
import triton
import triton.language as tl


@triton.jit
def attend(q, k, v, out, ROWS: tl.constexpr, KEYS: tl.constexpr, DIM: tl.constexpr):
    row = tl.arange(0, ROWS)
    key = tl.arange(0, KEYS)
    dim = tl.arange(0, DIM)
    queries = tl.load(q + row[:, None] * DIM + dim[None, :])
    keys = tl.load(k + dim[:, None] + key[None, :] * DIM)
    scores = tl.dot(queries, keys)
    values = tl.load(v + key[:, None] * DIM + dim[None, :])
    mixed = tl.dot(scores.to(tl.float16), values)
    mixed += tl.dot(queries, tl.load(k + dim[:, None] * DIM + dim[None, :]))
    tl.store(out + row[:, None] * DIM + dim[None, :], mixed)


q, k, v = (torch.randn(64, 64, device="cuda", dtype=torch.float16) for _ in range(3))
out = torch.empty(64, 64, device="cuda")
attend[(1,)](q, k, v, out, ROWS=64, KEYS=32, DIM=64, num_warps=8)
