import torch
import triton
import triton.language as tl

TUNED = {"256,16": [32, 2]}


def tile_for(width, dtype):
    return TUNED.get(f"{width},{dtype.itemsize}", [128, 5])


@triton.jit
def kernel(k, out, WIDTH: tl.constexpr, ROWS: tl.constexpr):
    column, row = tl.arange(0, WIDTH), tl.arange(0, ROWS)
    q = tl.full([16, WIDTH], 0, tl.float16)
    acc = tl.zeros([16, ROWS], tl.float32)
    for start in range(9):
        acc += tl.dot(q, tl.load(k + (start + row)[None, :] * WIDTH + column[:, None]))
    tl.store(out + row, tl.sum(acc, axis=0))


k = torch.zeros(140, 256, device="cuda", dtype=torch.float16)
rows, stages = tile_for(256, k.dtype)
kernel[(1,)](k, torch.zeros(rows, device="cuda"), WIDTH=256, ROWS=rows, num_stages=stages)
