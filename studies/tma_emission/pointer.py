"""What surely is no TMA: the same copy by plain pointers."""

import torch
import triton
import triton.language as tl

ROWS, COLS = 4096, 4096
TILE_ROWS, TILE_COLS = 128, 128
DTYPE = torch.float16
NUM_STAGES = 4
NUM_WARPS = 8


@triton.jit
def copy(src, dst, rows, cols, R: tl.constexpr, C: tl.constexpr):
    row = tl.program_id(0) * R + tl.arange(0, R)[:, None]
    for start in range(0, cols, C):
        col = start + tl.arange(0, C)[None, :]
        at = row * cols + col
        here = (row < rows) & (col < cols)
        tl.store(dst + at, tl.load(src + at, mask=here), mask=here)


src = torch.ones(ROWS, COLS, device="cuda", dtype=DTYPE)
dst = torch.zeros(ROWS, COLS, device="cuda", dtype=DTYPE)
copy[(triton.cdiv(ROWS, TILE_ROWS),)](
    src, dst, ROWS, COLS, TILE_ROWS, TILE_COLS, num_stages=NUM_STAGES, num_warps=NUM_WARPS
)
torch.cuda.synchronize()
assert torch.equal(src, dst)
