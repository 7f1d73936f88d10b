"""Moving sums over a band of columns [lower, upper); the band of a shrinking window may end before it begins.

Nested loops give zero for such a band. With flatten=True the inner body runs once for each row all the same.
"""

import torch
import triton
import triton.language as tl

BANDS = {"full": (0, 64), "narrow": (24, 28), "closed": (40, 37)}


@triton.jit
def band_sum_kernel(
    x_ptr, out_ptr, rows, columns, lower, upper,
    ROWS_PER_PROGRAM: tl.constexpr, FLATTEN: tl.constexpr,
):
    """Column by column, so that a row's sum does not depend on how many columns are in a tile."""
    first = tl.program_id(0) * ROWS_PER_PROGRAM
    last = tl.minimum(first + ROWS_PER_PROGRAM, rows)
    total = 0.0
    for row in tl.range(first, last, flatten=FLATTEN):
        for column in tl.range(lower, upper):
            total += tl.load(x_ptr + row * columns + column)
        tl.store(out_ptr + row, total)


@triton.jit
def difference_kernel(sums_ptr, out_ptr, rows, per_program, BLOCK: tl.constexpr):
    """The kernel above accumulates within a program: back to sums of single rows."""
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    this = tl.load(sums_ptr + row, mask=row < rows, other=0.0)
    before = tl.load(sums_ptr + row - 1, mask=(row < rows) & (row % per_program > 0), other=0.0)
    tl.store(out_ptr + row, this - before, mask=row < rows)


def band_sums(x: torch.Tensor, band: tuple[int, int], flatten: bool, rows_per_program: int = 4) -> torch.Tensor:
    rows, columns = x.shape
    running = torch.empty(rows, device=x.device)
    grid = (triton.cdiv(rows, rows_per_program),)
    band_sum_kernel[grid](
        x, running, rows, columns, *band, ROWS_PER_PROGRAM=rows_per_program, FLATTEN=flatten, num_warps=1
    )
    out = torch.empty_like(running)
    difference_kernel[(triton.cdiv(rows, 128),)](running, out, rows, rows_per_program, BLOCK=128)
    return out


def reference(x: torch.Tensor, band: tuple[int, int]) -> torch.Tensor:
    lower, upper = band
    return x[:, lower:upper].sum(1)


def main() -> None:
    torch.manual_seed(0)
    x = torch.rand(30, 64, device="cuda")
    for name, band in BANDS.items():
        for flatten in (False, True):
            torch.testing.assert_close(band_sums(x, band, flatten), reference(x, band), rtol=1e-4, atol=1e-4)
            print(name, "flattened" if flatten else "nested", "ok")


if __name__ == "__main__":
    main()
