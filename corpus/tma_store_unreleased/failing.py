"""Split-K product of tall matrices: each program stores its tile by TMA, and the last one of a tile adds them up.

    python tma_store_message.py             the sums hold what lay in the workspace before, in other tiles in each run
    python tma_store_message.py --splits 1  nothing to hand on

A program counts itself as done by an atomic addition with release semantics; the one that finds all others done reads
their tiles. Is what a descriptor stored released as well?
"""

from __future__ import annotations

import argparse

import torch
import triton
import triton.language as tl


@triton.jit
def partial_tile(a_ptr, b_ptr, rows, first, K: tl.constexpr, WIDTH: tl.constexpr, STEP: tl.constexpr):
    """Product of some rows of `a` with some of `b`."""
    inner = tl.arange(0, STEP)
    cols = tl.arange(0, WIDTH)
    total = tl.zeros([rows.shape[0], WIDTH], tl.float32)
    for start in range(0, K, STEP):
        at = first + start + inner
        a = tl.load(a_ptr + rows[:, None] * 2048 + at[None, :])
        b = tl.load(b_ptr + at[:, None] * WIDTH + cols[None, :])
        total = tl.dot(a, b, total)
    return total


@triton.jit
def split_product_kernel(
    a_ptr,
    b_ptr,
    space_ptr,
    done_ptr,
    out_ptr,
    tiles,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    K: tl.constexpr,
    STEP: tl.constexpr,
    SPLITS: tl.constexpr,
):
    tile, part = tl.program_id(0), tl.program_id(1)
    rows = tl.arange(0, ROWS)
    cols = tl.arange(0, WIDTH)
    total = partial_tile(a_ptr, b_ptr, tile * ROWS + rows, part * K, K, WIDTH, STEP)
    space = tl.make_tensor_descriptor(
        space_ptr, shape=[tiles * SPLITS * ROWS, WIDTH], strides=[WIDTH, 1], block_shape=[ROWS, WIDTH]
    )
    space.store([(tile * SPLITS + part) * ROWS, 0], total)
    if tl.atomic_add(done_ptr + tile, 1, sem="acq_rel") == SPLITS - 1:
        total = tl.zeros([ROWS, WIDTH], tl.float32)
        for other in range(SPLITS):
            at = ((tile * SPLITS + other) * ROWS + rows).to(tl.int64)
            total += tl.load(space_ptr + at[:, None] * WIDTH + cols[None, :])
        tl.store(out_ptr + (tile * ROWS + rows)[:, None] * WIDTH + cols[None, :], total)


def product(a: torch.Tensor, b: torch.Tensor, splits: int, rows: int = 64) -> torch.Tensor:
    tiles, (inner, width) = a.shape[0] // rows, b.shape
    space = torch.empty(tiles * splits * rows, width, device=a.device)
    done = torch.zeros(tiles, dtype=torch.int32, device=a.device)
    out = torch.empty(a.shape[0], width, device=a.device)
    split_product_kernel[(tiles, splits)](
        a, b, space, done, out, tiles, ROWS=rows, WIDTH=width, K=inner // splits, STEP=32, SPLITS=splits, num_warps=4
    )
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiles", type=int, default=1024)
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device=args.device))
    torch.manual_seed(0)
    a = torch.randn(args.tiles * 64, 2048, dtype=torch.float16, device=args.device)
    b = torch.randn(2048, 128, dtype=torch.float16, device=args.device)
    out = product(a, b, args.splits)
    wrong = (~torch.isclose(out, (a @ b).float(), atol=1.0, rtol=0.1)).sum().item()
    print(f"{wrong} of {out.numel()} elements are not the product's")


if __name__ == "__main__":
    main()
