# shrink --oracle "illegal memory access" --control-patch mask_removed.diff --keep row_start
# lure: the mask off the loads: rows past the end are read, another illegal access that the reducer made itself
# must: row_start\((?!row: tl)
# ends: 1 illegal memory access|operation not supported on global
# cured by: return row \* stride$ => return tl.cast(row, tl.int64) * stride
# fault: device fault: (an illegal memory access|operation not supported on global)
# naive: no guards
"""Expands a lookup table into a large output; offsets beyond 2**31 bytes overflow 32 bits."""

import torch
import triton
import triton.language as tl


@triton.jit
def row_start(row: tl.tensor, stride: tl.tensor):
    """Where the row begins."""
    return row * stride


@triton.jit
def expand_kernel(table_ptr, out_ptr, rows, entries, stride, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, WIDTH)
    x = tl.load(table_ptr + row * 4096 + cols, mask=row < entries, other=0)
    tl.store(out_ptr + row_start(row, stride) + cols, x, mask=row < rows)


def expand(table, rows, stride):
    out = torch.empty(rows, stride, dtype=torch.int8, device=table.device)
    programs = triton.cdiv(rows, 1 << 16) << 16
    expand_kernel[(programs,)](table, out, rows, len(table), stride, WIDTH=128)
    return out


def main():
    table = torch.ones(16, 4096, dtype=torch.int8, device="cuda")
    for rows in (1000, 40000):
        out = expand(table, rows, stride=1 << 16)
        torch.cuda.synchronize()
        print(rows, out[:16, :128].sum().item())


main()
