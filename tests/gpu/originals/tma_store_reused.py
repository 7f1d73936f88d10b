"""Gluon: fills a key cache from a table of angles, tile by tile; a tile goes from registers by shared memory to TMA.

    python tma_store_reused.py              the shared tile is overwritten while TMA still reads it
    python tma_store_reused.py --wait       it waits for TMA before

A store by TMA returns at once: shared memory must not be written before `store_wait` says that it was read.
"""

from __future__ import annotations

import argparse

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, tma
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

ROWS = 64
COLS = 64


@gluon.jit
def rotated(x, angle):
    """As a first approximation."""
    return x - x * angle * angle * 0.5


@gluon.jit
def fill_kernel(x_ptr, angle_ptr, cache, tiles, stride, WAIT: gl.constexpr):
    """So many tiles below each other, for one program."""
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [2, 16], [4, 1], [1, 0])
    rows: gl.constexpr = cache.block_type.shape[0]
    cols: gl.constexpr = cache.block_type.shape[1]
    row = gl.arange(0, rows, layout=gl.SliceLayout(1, layout))
    col = gl.arange(0, cols, layout=gl.SliceLayout(0, layout))
    shared = gl.allocate_shared_memory(cache.dtype, cache.block_type.shape, cache.layout)
    first = gl.program_id(0) * tiles * rows
    for tile in range(tiles):
        at = first + tile * rows + row
        x = gl.load(x_ptr + at[:, None] * stride + col[None, :])
        angle = gl.load(angle_ptr + at)
        if WAIT:
            tma.store_wait(0)
        shared.store(rotated(x, angle[:, None]))
        fence_async_shared()
        tma.async_copy_shared_to_global(cache, [first + tile * rows, 0], shared)
    tma.store_wait(0)


def fill(x: torch.Tensor, angle: torch.Tensor, programs: int, wait: bool) -> torch.Tensor:
    cache = torch.empty_like(x)
    layout = gl.NVMMASharedLayout.get_default_for([ROWS, COLS], gl.float32)
    described = TensorDescriptor.from_tensor(cache, [ROWS, COLS], layout)
    tiles = x.shape[0] // ROWS // programs
    fill_kernel[(programs,)](x, angle, described, tiles, x.stride(0), WAIT=wait, num_warps=4)
    return cache


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wait", action="store_true")
    parser.add_argument("--programs", type=int, default=132)
    parser.add_argument("--tiles", type=int, default=16)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    torch.manual_seed(0)
    rows = args.programs * args.tiles * ROWS
    x = torch.randn(rows, COLS, device=args.device)
    angle = torch.rand(rows, device=args.device)
    cache = fill(x, angle, args.programs, args.wait)
    expected = x - x * (angle * angle * 0.5)[:, None]
    wrong = (~torch.isclose(cache, expected, atol=1e-3)).any(dim=1).sum().item()
    print(f"{wrong} of {rows} rows are wrong")


if __name__ == "__main__":
    main()
