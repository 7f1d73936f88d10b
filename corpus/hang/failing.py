"""Column sums of a tall matrix, split over programs that hand their partial sums on to the next in line.

    python split_sum.py                     the rows do not divide evenly: it never ends
    python split_sum.py --rows 4096         no program is left without rows

Program i waits for the flag of program i - 1, adds its own sum, and raises its own flag. The order of the additions is
the same in each run, which atomic additions would not give.
"""

from __future__ import annotations

import argparse

import torch
import triton
import triton.language as tl


@triton.jit
def wait_for(flag_ptr):
    """Until the flag is raised."""
    raised = tl.atomic_add(flag_ptr, 0)
    while raised == 0:
        raised = tl.atomic_add(flag_ptr, 0)


@triton.jit
def chained_sum_kernel(x_ptr, out_ptr, flags_ptr, rows, stride, each, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    part = tl.program_id(0)
    first = part * each
    cols = tl.arange(0, WIDTH)
    if first < rows:
        total = tl.zeros([WIDTH], tl.float32)
        for start in range(first, min(first + each, rows), BLOCK):
            row = start + tl.arange(0, BLOCK)
            inside = (row < rows)[:, None]
            x = tl.load(x_ptr + row[:, None] * stride + cols[None, :], mask=inside, other=0.0)
            total += tl.sum(x, axis=0)
        if part > 0:
            wait_for(flags_ptr + part - 1)
            total += tl.load(out_ptr + cols)
        tl.store(out_ptr + cols, total)
        tl.debug_barrier()
        tl.atomic_xchg(flags_ptr + part, 1)
    if part == tl.num_programs(0) - 1:
        wait_for(flags_ptr + part)
        tl.store(out_ptr + cols, tl.load(out_ptr + cols) / rows)


def column_means(x: torch.Tensor, parts: int, block: int) -> torch.Tensor:
    rows, width = x.shape
    each = triton.cdiv(triton.cdiv(rows, parts), block) * block
    out = torch.zeros(width, device=x.device)
    flags = torch.zeros(parts, dtype=torch.int32, device=x.device)
    chained_sum_kernel[(parts,)](x, out, flags, rows, x.stride(0), each, WIDTH=width, BLOCK=block)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1900)
    parser.add_argument("--parts", type=int, default=32)
    parser.add_argument("--block", type=int, default=64)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    x = torch.ones(args.rows, 128, device=args.device)
    means = column_means(x, args.parts, args.block)
    torch.cuda.synchronize()
    print(f"mean of the means {means.mean().item():.3f}")


if __name__ == "__main__":
    main()
