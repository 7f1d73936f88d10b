"""Packs the positive entries of rows by whole blocks; the last block's start is used once more after the loop.

In Python the loop variable keeps its last value. Triton's front end hands out poison instead.
"""

from dataclasses import dataclass

import torch
import triton
import triton.language as tl


@dataclass(frozen=True)
class Shape:
    rows: int
    columns: int
    block: int

    @property
    def blocks(self) -> int:
        return triton.cdiv(self.columns, self.block)


@triton.jit
def positives(x_ptr, start, columns, BLOCK: tl.constexpr):
    cols = start + tl.arange(0, BLOCK)
    return tl.load(x_ptr + cols, mask=cols < columns, other=0.0) > 0


@triton.jit
def summary_kernel(x_ptr, counts_ptr, last_ptr, tail_ptr, columns, blocks, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * columns
    total = 0
    for start in range(0, columns, BLOCK):
        count = tl.sum(positives(x_ptr, start, columns, BLOCK).to(tl.int32), axis=0)
        tl.store(counts_ptr + row * blocks + start // BLOCK, count)
        total += count
    tl.store(last_ptr + row, start)
    tl.store(tail_ptr + row, total - tl.load(counts_ptr + row * blocks + start // BLOCK))


@triton.jit
def share_kernel(counts_ptr, shares_ptr, count, columns, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < count
    counts = tl.load(counts_ptr + offsets, mask=inside, other=0)
    tl.store(shares_ptr + offsets, counts.to(tl.float32) / columns, mask=inside)


def summarize(x: torch.Tensor, shape: Shape):
    counts = torch.empty(shape.rows, shape.blocks, dtype=torch.int32, device=x.device)
    last = torch.empty(shape.rows, dtype=torch.int32, device=x.device)
    tail = torch.empty_like(last)
    summary_kernel[(shape.rows,)](x, counts, last, tail, shape.columns, shape.blocks, BLOCK=shape.block)
    shares = torch.empty(counts.shape, device=x.device)
    share_kernel[(triton.cdiv(counts.numel(), 128),)](counts, shares, counts.numel(), shape.columns, BLOCK=128)
    return counts, last, tail, shares


def reference(x: torch.Tensor, shape: Shape):
    padded = torch.zeros(shape.rows, shape.blocks * shape.block, device=x.device)
    padded[:, : shape.columns] = x
    counts = (padded > 0).view(shape.rows, shape.blocks, shape.block).sum(-1).to(torch.int32)
    last = torch.full_like(counts[:, 0], (shape.blocks - 1) * shape.block)
    return counts, last, counts[:, :-1].sum(1).to(torch.int32), counts / shape.columns


def main() -> None:
    torch.manual_seed(0)
    for shape in (Shape(4, 64, 16), Shape(9, 100, 32)):
        x = torch.randn(shape.rows, shape.columns, device="cuda")
        for found, expected in zip(summarize(x, shape), reference(x, shape), strict=True):
            torch.testing.assert_close(found, expected)
        print(shape, "ok")


if __name__ == "__main__":
    main()
