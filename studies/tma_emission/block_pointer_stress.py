"""The study's stress: block pointers made anew in each round of the loop, some rounds left out, edges sticking out."""

import torch
import triton
import triton.language as tl

ROWS, COLS = 4000, 4008
TILE_ROWS, TILE_COLS = 128, 128
DTYPE = torch.float16
NUM_STAGES = 4
NUM_WARPS = 8


@triton.jit
def stress(src, dst, rows, cols, skip, R: tl.constexpr, C: tl.constexpr):
    row = tl.program_id(0) * R
    for col in range(0, cols, C):
        tiles = tl.make_block_ptr(src, (rows, cols), (cols, 1), (row, col), (R, C), (1, 0))
        copies = tl.make_block_ptr(dst, (rows, cols), (cols, 1), (row, col), (R, C), (1, 0))
        if (col // C) % skip != 0:
            tile = tl.load(tiles, boundary_check=(0, 1), padding_option="zero")
            tl.store(copies, tile, boundary_check=(0, 1))


src = torch.ones(ROWS, COLS, device="cuda", dtype=DTYPE)
dst = torch.zeros(ROWS, COLS, device="cuda", dtype=DTYPE)
stress[(triton.cdiv(ROWS, TILE_ROWS),)](
    src, dst, ROWS, COLS, 4, TILE_ROWS, TILE_COLS, num_stages=NUM_STAGES, num_warps=NUM_WARPS
)
torch.cuda.synchronize()
assert dst[:, :TILE_COLS].sum() == 0 and dst[:, TILE_COLS : 4 * TILE_COLS].min() == 1
