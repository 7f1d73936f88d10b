"""The stress for descriptors: made anew in each round of the loop, some rounds left out, edges that stick out."""

import torch
import triton
import triton.language as tl

ROWS, COLS = 4000, 4008
TILE_ROWS, TILE_COLS = 128, 128
DTYPE = torch.float16
NUM_STAGES = 4
NUM_WARPS = 8

if hasattr(tl, "make_tensor_descriptor"):

    @triton.jit
    def stress(src, dst, rows, cols, skip, R: tl.constexpr, C: tl.constexpr):
        row = tl.program_id(0) * R
        for col in range(0, cols, C):
            tiles = tl.make_tensor_descriptor(src, [rows, cols], [cols, 1], [R, C])
            copies = tl.make_tensor_descriptor(dst, [rows, cols], [cols, 1], [R, C])
            if (col // C) % skip != 0:
                copies.store([row, col], tiles.load([row, col]))

else:  # 3.3; releases before it make no descriptor in a kernel

    @triton.jit
    def stress(src, dst, rows, cols, skip, R: tl.constexpr, C: tl.constexpr):
        row = tl.program_id(0) * R
        for col in range(0, cols, C):
            tiles = tl._experimental_make_tensor_descriptor(src, [rows, cols], [cols, 1], [R, C])
            copies = tl._experimental_make_tensor_descriptor(dst, [rows, cols], [cols, 1], [R, C])
            if (col // C) % skip != 0:
                copies.store([row, col], tiles.load([row, col]))


triton.set_allocator(lambda size, align, stream: torch.empty(size, device="cuda", dtype=torch.int8))
src = torch.ones(ROWS, COLS, device="cuda", dtype=DTYPE)
dst = torch.zeros(ROWS, COLS, device="cuda", dtype=DTYPE)
stress[(triton.cdiv(ROWS, TILE_ROWS),)](
    src, dst, ROWS, COLS, 4, TILE_ROWS, TILE_COLS, num_stages=NUM_STAGES, num_warps=NUM_WARPS
)
torch.cuda.synchronize()
assert dst[:, :TILE_COLS].sum() == 0 and dst[:, TILE_COLS : 4 * TILE_COLS].min() == 1
