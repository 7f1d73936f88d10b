# shrink --arch sm_90 --oracle static:bounds --skip-pass lift --skip-pass names
# lure: no mask, or one of a literal
# cured by: (row\[:, None\]|row) < columns => \1 < 1
"""Dequantises int8 weights to their transpose: rows of the input are columns of the output."""

import torch
import triton
import triton.language as tl


@triton.jit
def dequantise_kernel(q_ptr, scale_ptr, out_ptr, rows, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    scale = tl.load(scale_ptr + row, mask=row < rows, other=0.0)
    there = (row[:, None] < columns) & (column[None, :] < rows)
    q = tl.load(q_ptr + row[:, None] * columns + column[None, :], mask=there, other=0)
    tl.store(out_ptr + column[None, :] * rows + row[:, None], q * scale[:, None], mask=there)


def quantise(weight):
    scale = weight.abs().amax(dim=1) / 127 + 1e-8
    return (weight / scale[:, None]).round().to(torch.int8), scale


def dequantise(q, scale):
    rows, columns = q.shape
    out = torch.zeros(columns, rows, device="cuda")
    grid = (triton.cdiv(rows, 64), triton.cdiv(columns, 64))
    dequantise_kernel[grid](q, scale, out, rows, columns, BLOCK=64)
    return out


square = torch.ones(64, 64, device="cuda")
print(dequantise(*quantise(square)).sum().item())
low_rank = torch.ones(10, 1 << 16, device="cuda")
print(dequantise(*quantise(low_rank)).sum().item())
