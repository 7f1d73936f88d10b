"""A transpose, of which one branch copies a row and returns (triton-lang/triton 11321)."""

import torch
import triton
import triton.language as tl

BLOCK = 32


@triton.jit
def transpose_kernel(source, out, rows, columns, shift, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    row = start + tl.arange(0, BLOCK)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    if shift > 4:
        begin = source + start * columns
        if rows < 2:
            line = tl.load(begin + column, mask=column < columns, other=0.0)
            tl.store(out + column, line * 2.0, mask=column < columns)
            return
    else:
        begin = source + start * columns + shift
    inside = (tl.arange(0, BLOCK)[:, None] < rows) & (column[None, :] < columns)
    tile = tl.load(begin + tl.arange(0, BLOCK)[:, None] * columns + column[None, :], mask=inside, other=0.0)
    tl.store(out + column[None, :] * rows + row[:, None], tile, mask=inside)


@triton.jit
def scale_kernel(values, factor, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(values + at, tl.load(values + at, mask=inside) * factor, mask=inside)


def transposed(matrix, shift=0, factor=1.0):
    rows, columns = matrix.shape
    out = torch.empty(columns, rows, device=matrix.device, dtype=matrix.dtype)
    if factor != 1.0:
        scale_kernel[(triton.cdiv(matrix.numel(), 1024),)](matrix, factor, matrix.numel(), BLOCK=1024)
    grid = (triton.cdiv(rows, BLOCK), triton.cdiv(columns, BLOCK))
    transpose_kernel[grid](matrix, out, rows, columns, shift, BLOCK=BLOCK, num_warps=4)
    return out


def main():
    torch.manual_seed(1)
    for rows, columns in ((64, 96), (128, 32)):
        matrix = torch.randn(rows, columns, device="cuda")
        out = transposed(matrix, shift=rows // 8, factor=2.0)
        torch.cuda.synchronize()
        print(rows, columns, out.shape)


if __name__ == "__main__":
    main()
