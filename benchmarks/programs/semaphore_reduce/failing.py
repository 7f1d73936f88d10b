"""Column sums in one launch: each program adds its part, the last to arrive adds the parts and writes the result.

All programs wait for each other at a barrier in global memory, so there must be as many as it counts. Two ways to find
out how many there are: by the shape, or by the number of multiprocessors.
"""

import argparse
import enum
import os
from dataclasses import dataclass

import torch
import triton
import triton.language as tl


class Grid(enum.Enum):
    SHAPE = "shape"
    RESIDENT = "resident"


@dataclass(frozen=True)
class Plan:
    programs: int
    expected: int
    rows_each: int


@triton.jit
def barrier(counter_ptr, expected):
    tl.debug_barrier()
    tl.atomic_add(counter_ptr, 1)
    while tl.atomic_add(counter_ptr, 0) < expected:
        pass
    tl.debug_barrier()


@triton.jit
def sum_kernel(x_ptr, part_ptr, out_ptr, counter_ptr, rows, width, rows_each, programs, expected, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    inside = cols < width
    total = tl.zeros([BLOCK], tl.float32)
    for index in range(0, rows_each):
        row = program * rows_each + index
        total += tl.load(x_ptr + row * width + cols, mask=inside & (row < rows), other=0.0)
    tl.store(part_ptr + program * width + cols, total, mask=inside)
    barrier(counter_ptr, expected)
    if program == 0:
        total = tl.zeros([BLOCK], tl.float32)
        for other in range(0, programs):
            total += tl.load(part_ptr + other * width + cols, mask=inside, other=0.0, volatile=True)
        tl.store(out_ptr + cols, total, mask=inside)


@triton.jit
def normalize_kernel(x_ptr, sum_ptr, out_ptr, rows, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    inside = cols < width
    mean = tl.load(sum_ptr + cols, mask=inside, other=0.0) / rows
    x = tl.load(x_ptr + row * width + cols, mask=inside, other=0.0)
    tl.store(out_ptr + row * width + cols, x - mean, mask=inside)


@triton.jit
def variance_kernel(x_ptr, out_ptr, rows, width, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for row in range(0, rows):
        x = tl.load(x_ptr + row * width + cols, mask=cols < width, other=0.0)
        total += x * x
    tl.store(out_ptr + cols, total / rows, mask=cols < width)


def plan(rows: int, grid: Grid, each: int = 8) -> Plan:
    programs = triton.cdiv(rows, each)
    if grid is Grid.RESIDENT:
        # every multiprocessor takes one, and all of them are expected
        expected = torch.cuda.get_device_properties("cuda").multi_processor_count
        return Plan(min(programs, expected), expected, triton.cdiv(rows, min(programs, expected)))
    return Plan(programs, programs, each)


class Standardize:
    def __init__(self, grid: Grid):
        self.grid = grid

    def sums(self, x: torch.Tensor) -> torch.Tensor:
        rows, width = x.shape
        how = plan(rows, self.grid)
        part = torch.zeros(how.programs, width, device="cuda")
        out = torch.zeros(width, device="cuda")
        counter = torch.zeros(1, dtype=torch.int32, device="cuda")
        sum_kernel[(how.programs,)](
            x, part, out, counter, rows, width, how.rows_each, how.programs, how.expected,
            BLOCK=triton.next_power_of_2(width),
        )
        return out

    def __call__(self, x: torch.Tensor):
        rows, width = x.shape
        sums = self.sums(x)
        out = torch.zeros_like(x)
        normalize_kernel[(rows,)](x, sums, out, rows, width, BLOCK=triton.next_power_of_2(width))
        variance = torch.zeros(width, device="cuda")
        variance_kernel[(triton.cdiv(width, 64),)](out, variance, rows, width, BLOCK=64)
        return out, variance


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--width", type=int, default=80)
    parser.add_argument("--grids", nargs="*", default=os.environ.get("GRIDS", "shape resident").split())
    args = parser.parse_args()
    torch.manual_seed(7)
    x = torch.randn(args.rows, args.width, device="cuda") * 2 + 1
    for name in args.grids:
        out, variance = Standardize(Grid(name))(x)
        torch.cuda.synchronize()
        print(name, "mean", round(float(out.mean()), 5), "variance", round(float(variance.mean()), 3), flush=True)


if __name__ == "__main__":
    main()
