# shrink --arch sm_90 --oracle "compile:Input shapes should have M >= 1, N >= 1 and K >= 16" -- smallest: one kernel with a tl.dot of two zeros tiles with K = 8, and its launch
"""Low-rank adapter: x @ A @ B with the rank as the inner tile; rank 8 is too narrow for tl.dot."""

import torch
import triton
import triton.language as tl

RANKS = (64, 16, 8)


@triton.jit
def load_tile(ptr, rows, cols, stride, row_limit, col_limit):
    mask = (rows < row_limit)[:, None] & (cols < col_limit)[None, :]
    return tl.load(ptr + rows[:, None] * stride + cols[None, :], mask=mask, other=0.0)


@triton.jit
def down_kernel(x_ptr, a_ptr, h_ptr, tokens, hidden, RANK: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    ranks = tl.arange(0, RANK)
    acc = tl.zeros([BLOCK_M, RANK], tl.float32)
    for start in range(0, hidden, BLOCK_K):
        ks = start + tl.arange(0, BLOCK_K)
        x = load_tile(x_ptr, rows, ks, hidden, tokens, hidden)
        a = load_tile(a_ptr, ks, ranks, RANK, hidden, RANK)
        acc = tl.dot(x, a, acc)
    tl.store(h_ptr + rows[:, None] * RANK + ranks[None, :], acc.to(tl.float16), mask=(rows < tokens)[:, None])


@triton.jit
def up_kernel(h_ptr, b_ptr, y_ptr, tokens, hidden, RANK: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    ranks = tl.arange(0, RANK)
    h = load_tile(h_ptr, rows, ranks, RANK, tokens, RANK)
    b = load_tile(b_ptr, ranks, cols, hidden, RANK, hidden)
    y = tl.dot(h, b)
    mask = (rows < tokens)[:, None] & (cols < hidden)[None, :]
    tl.store(y_ptr + rows[:, None] * hidden + cols[None, :], y.to(tl.float16), mask=mask)


def adapter(x, a, b):
    tokens, hidden = x.shape
    rank = a.shape[1]
    h = torch.empty(tokens, rank, device=x.device, dtype=x.dtype)
    y = torch.empty_like(x)
    down_kernel[(triton.cdiv(tokens, 32),)](x, a, h, tokens, hidden, RANK=rank, BLOCK_M=32, BLOCK_K=32)
    up_kernel[(triton.cdiv(tokens, 32), triton.cdiv(hidden, 64))](
        h, b, y, tokens, hidden, RANK=rank, BLOCK_M=32, BLOCK_N=64
    )
    return y


def main():
    x = torch.randn(100, 128, device="cuda", dtype=torch.float16)
    for rank in RANKS:
        a = torch.randn(128, rank, device="cuda", dtype=torch.float16) / 11
        b = torch.randn(rank, 128, device="cuda", dtype=torch.float16) / rank**0.5
        y = adapter(x, a, b)
        torch.testing.assert_close(y, x @ a @ b, rtol=1e-2, atol=1e-2)
        print(f"rank {rank}: ok")


main()
