"""Sparse rows times a dense matrix: rows are padded to lanes, sorted by length, and multiplied by a kernel."""

from __future__ import annotations

import argparse
import dataclasses
import random

import torch
import triton
import triton.language as tl


@dataclasses.dataclass(frozen=True)
class Layout:
    """How rows of a matrix are stored: `lanes` places each, `warps` for the kernels."""

    rows: int
    columns: int
    lanes: int
    warps: int = 4

    @classmethod
    def of(cls, lengths: list[int], columns: int) -> Layout:
        longest = max(lengths)
        return cls(rows=len(lengths), columns=columns, lanes=lanes_for(longest), warps=8 if longest > 256 else 4)

    @property
    def places(self) -> int:
        return self.rows * self.lanes


def lanes_for(longest: int) -> int:
    """Whole warps; a short row takes a part of one."""
    if longest <= 32:
        return triton.next_power_of_2(longest)
    return (longest + 31) // 32 * 32


@triton.jit
def count_kernel(columns, lengths, LANES: tl.constexpr):
    """How many places of a row are taken: free ones hold -1."""
    row = tl.program_id(0)
    lane = tl.arange(0, LANES)
    column = tl.load(columns + row * LANES + lane)
    tl.store(lengths + row, tl.sum((column >= 0).to(tl.int32), axis=0))


@triton.jit
def gathered(dense, column, output, width, keep):
    """The wanted column of the dense matrix, for each place of a row."""
    return tl.load(dense + column * width + output, mask=keep, other=0.0)


@triton.jit
def rows_kernel(values, columns, lengths, dense, out, width, LANES: tl.constexpr):
    row = tl.program_id(0)
    lane = tl.arange(0, LANES)
    keep = lane < tl.load(lengths + row)
    value = tl.load(values + row * LANES + lane, mask=keep, other=0.0)
    column = tl.load(columns + row * LANES + lane, mask=keep, other=0)
    for output in range(0, width):
        total = tl.sum(value * gathered(dense, column, output, width, keep), axis=0)
        tl.store(out + row * width + output, total)


class Sparse:
    def __init__(self, lengths: list[int], columns: int, source: random.Random) -> None:
        self.layout = layout = Layout.of(lengths, columns)
        table = torch.full((layout.rows, layout.lanes), -1, dtype=torch.int32)
        for row, length in enumerate(lengths):
            table[row, :length] = torch.tensor(sorted(source.sample(range(columns), length)), dtype=torch.int32)
        self.columns = table.cuda()
        self.values = torch.randn(layout.rows, layout.lanes, device="cuda")
        self.lengths = torch.empty(layout.rows, dtype=torch.int32, device="cuda")

    def __matmul__(self, dense: torch.Tensor) -> torch.Tensor:
        layout = self.layout
        count_kernel[(layout.rows,)](self.columns, self.lengths, LANES=layout.lanes, num_warps=layout.warps)
        out = torch.empty(layout.rows, dense.shape[1], device="cuda")
        rows_kernel[(layout.rows,)](
            self.values, self.columns, self.lengths, dense, out, dense.shape[1],
            LANES=layout.lanes, num_warps=layout.warps,
        )
        return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--longest", type=int, nargs="+", default=[20, 60, 85, 120])
    parser.add_argument("--rows", type=int, default=12)
    parser.add_argument("--width", type=int, default=5)
    args = parser.parse_args()
    source = random.Random(0)
    for longest in args.longest:
        lengths = sorted(source.randint(1, longest) for _ in range(args.rows - 1)) + [longest]
        matrix = Sparse(lengths, 200, source)
        out = matrix @ torch.randn(200, args.width, device="cuda")
        torch.cuda.synchronize()
        print(f"rows up to {longest}: {matrix.layout.places} places, {tuple(out.shape)}")


if __name__ == "__main__":
    main()
