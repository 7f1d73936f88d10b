"""Gathers rows of a pool by offsets that a first kernel works out; the offsets live in a workspace that is kept.

    python history_workspace.py                 a long pool, then a short one
    python history_workspace.py --only short    the short one alone is fine

Rows are gathered in programs of PROGRAM_ROWS, the last of which may be partly empty.
"""

from __future__ import annotations

import argparse

import torch
import triton
import triton.language as tl

PROGRAM_ROWS = 32


@triton.jit
def plan_kernel(offsets_ptr, rows, stride, BLOCK: tl.constexpr):
    """Where each row of the pool begins."""
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(offsets_ptr + row, row.to(tl.int64) * stride, mask=row < rows)


@triton.jit
def gather_kernel(pool_ptr, offsets_ptr, out_ptr, rows, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    """The first WIDTH elements of each row."""
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.arange(0, WIDTH)
    offset = tl.load(offsets_ptr + row)
    x = tl.load(pool_ptr + offset[:, None] + cols[None, :])
    tl.store(out_ptr + row[:, None] * WIDTH + cols[None, :], x, mask=(row < rows)[:, None])


class Workspace:
    """One buffer a device, made once: allocating one at each call showed in the profile."""

    def __init__(self, rows: int = 1 << 12) -> None:
        self.rows = rows
        self.buffers: dict[torch.device, torch.Tensor] = {}

    def offsets(self, rows: int, device: torch.device) -> torch.Tensor:
        if rows > self.rows:
            raise ValueError(f"{rows} rows in a workspace of {self.rows}")
        if device not in self.buffers:
            self.buffers[device] = torch.zeros(self.rows, dtype=torch.int64, device=device)
        return self.buffers[device]


WORKSPACE = Workspace()


def gather(pool: torch.Tensor, width: int) -> torch.Tensor:
    rows = len(pool)
    offsets = WORKSPACE.offsets(rows, pool.device)
    out = torch.empty(rows, width, dtype=pool.dtype, device=pool.device)
    grid = (triton.cdiv(rows, PROGRAM_ROWS),)
    plan_kernel[grid](offsets, rows, pool.stride(0), BLOCK=PROGRAM_ROWS)
    gather_kernel[grid](pool, offsets, out, rows, WIDTH=width, BLOCK=PROGRAM_ROWS)
    return out


def job(name: str, rows: int, length: int, width: int, device: str) -> None:
    pool = torch.empty(rows, length, dtype=torch.float16, device=device)
    pool[:, :width] = torch.arange(rows, device=device, dtype=torch.float16)[:, None]
    found = gather(pool, width)
    torch.testing.assert_close(found, pool[:, :width])
    print(f"{name}: {tuple(pool.shape)} agrees")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("long", "short"))
    parser.add_argument("--rows", type=int, default=128)
    parser.add_argument("--length", type=int, default=1 << 26, help="of the long pool's rows")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    if args.only != "short":
        job("long", args.rows, args.length, args.width, args.device)
        torch.cuda.empty_cache()  # the next job must find room
    if args.only != "long":
        job("short", args.rows - 28, 256, args.width, args.device)


if __name__ == "__main__":
    main()
