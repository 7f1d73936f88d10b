# shrink --arch sm_90 --oracle "out of resource: shared memory" -- smallest: one kernel that holds too much in shared memory (a pipelined dot), and its launch
"""Matmul with a table of tile shapes; the deep pipeline does not fit in Hopper's shared memory."""

from typing import NamedTuple

import torch
import triton
import triton.language as tl


class Tile(NamedTuple):
    m: int
    n: int
    k: int
    stages: int
    warps: int


TILES = {
    "latency": Tile(64, 64, 64, 3, 4),
    "bandwidth": Tile(64, 64, 256, 8, 4),
}


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, m, n, k,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in range(0, k, BLOCK_K):
        ks = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rows[:, None] * k + ks[None, :], mask=(rows < m)[:, None] & (ks < k)[None, :], other=0.0)
        b = tl.load(b_ptr + ks[:, None] * n + cols[None, :], mask=(ks < k)[:, None] & (cols < n)[None, :], other=0.0)
        acc = tl.dot(a, b, acc)
    mask = (rows < m)[:, None] & (cols < n)[None, :]
    tl.store(c_ptr + rows[:, None] * n + cols[None, :], acc.to(tl.float16), mask=mask)


def matmul(a, b, tile):
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty(m, n, device=a.device, dtype=a.dtype)
    matmul_kernel[(triton.cdiv(m, tile.m), triton.cdiv(n, tile.n))](
        a, b, c, m, n, k,
        BLOCK_M=tile.m, BLOCK_N=tile.n, BLOCK_K=tile.k, num_stages=tile.stages, num_warps=tile.warps,
    )
    return c


if __name__ == "__main__":
    a = torch.randn(256, 1024, device="cuda", dtype=torch.float16)
    b = torch.randn(1024, 256, device="cuda", dtype=torch.float16)
    expected = a @ b
    for name, tile in TILES.items():
        torch.testing.assert_close(matmul(a, b, tile), expected, rtol=1e-2, atol=1e-1)
        print(name, "ok")
