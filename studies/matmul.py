"""A product of tiles in a loop: what is made of it depends on warps, stages, tile and type. See docs/ir.md."""

import torch
import triton
import triton.language as tl

TILE, DEPTH = 64, 64
DTYPE = torch.float16
NUM_STAGES = 3
NUM_WARPS = 4


@triton.jit
def matmul(a, b, c, size, TILE: tl.constexpr, DEPTH: tl.constexpr):
    row, col, deep = tl.arange(0, TILE)[:, None], tl.arange(0, TILE)[None, :], tl.arange(0, DEPTH)
    left, right = a + row * size + deep[None, :], b + deep[:, None] * TILE + col
    total = tl.zeros([TILE, TILE], tl.float32)
    for _ in range(0, size, DEPTH):
        total += tl.dot(tl.load(left), tl.load(right))
        left += DEPTH
        right += DEPTH * TILE
    tl.store(c + row * TILE + col, total)


a = torch.ones(TILE, 512, device="cuda", dtype=DTYPE)
b = torch.ones(512, TILE, device="cuda", dtype=DTYPE)
c = torch.zeros(TILE, TILE, device="cuda")
matmul[(1,)](a, b, c, 512, TILE, DEPTH, num_stages=NUM_STAGES, num_warps=NUM_WARPS)
torch.cuda.synchronize()
assert c.eq(512).all()
