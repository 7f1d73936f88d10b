# shrink --arch sm_90 --oracle static:div0 --skip-pass lift --skip-pass names
# lure: a divisor that is 0 by itself: a literal, an argument, or no column at all
# cured by: columns // GROUPS => tl.cdiv(columns, GROUPS)
# cured by: columns // (\d+) => tl.cdiv(columns, \1)
# cured by: // \((\d+) // GROUPS\) => // tl.cdiv(\1, GROUPS)
"""Scales columns by groups, each with a factor of its own; the last layer has fewer columns than groups."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, factor_ptr, out_ptr, columns, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    there = column < columns
    group = column // (columns // GROUPS)
    factor = tl.load(factor_ptr + group, mask=there & (group < GROUPS), other=1.0)
    x = tl.load(x_ptr + row * columns + column, mask=there, other=0.0)
    tl.store(out_ptr + row * columns + column, x * factor, mask=there)


def scaled(x, factors):
    rows, columns = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(columns)
    scale_kernel[(rows,)](x, factors, out, columns, GROUPS=factors.shape[0], BLOCK=block)
    return out


factors = torch.linspace(0.5, 2.0, 16, device="cuda")
widths = [64, 48, 10]
x = torch.ones(5, widths[0], device="cuda")
for width in widths:
    weight = torch.full((x.shape[1], width), 0.1, device="cuda")
    x = scaled(x @ weight, factors)
    print(width, x.mean().item())
