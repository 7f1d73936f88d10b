"""The study's positive control: a copy by block pointers for which everything is as TMA wants it.

4096 x 4096 numbers of 16 bits in tiles of 128 x 128, the inner dimension contiguous and first in the order.
"""

import torch
import triton
import triton.language as tl

ROWS, COLS = 4096, 4096
TILE_ROWS, TILE_COLS = 128, 128
DTYPE = torch.float16
ORDER = (1, 0)
INNER_STRIDE = 1
NUM_STAGES = 4
NUM_WARPS = 8


@triton.jit
def copy(src, dst, rows, cols, outer, inner, R: tl.constexpr, C: tl.constexpr, O0: tl.constexpr, O1: tl.constexpr):
    row = tl.program_id(0) * R
    tiles = tl.make_block_ptr(src, (rows, cols), (outer, inner), (row, 0), (R, C), (O0, O1))
    copies = tl.make_block_ptr(dst, (rows, cols), (outer, inner), (row, 0), (R, C), (O0, O1))
    for _ in range(0, cols, C):
        tl.store(copies, tl.load(tiles))
        tiles = tl.advance(tiles, (0, C))
        copies = tl.advance(copies, (0, C))


src = torch.ones(ROWS, COLS * INNER_STRIDE, device="cuda", dtype=DTYPE)[:, ::INNER_STRIDE]
dst = torch.zeros(ROWS, COLS * INNER_STRIDE, device="cuda", dtype=DTYPE)[:, ::INNER_STRIDE]
copy[(triton.cdiv(ROWS, TILE_ROWS),)](
    src, dst, ROWS, COLS, src.stride(0), src.stride(1), TILE_ROWS, TILE_COLS, ORDER[0], ORDER[1],
    num_stages=NUM_STAGES, num_warps=NUM_WARPS,
)  # fmt: skip
torch.cuda.synchronize()
assert torch.equal(src, dst)
