"""Row sums over a buffer that is padded, so that no row needs a mask; the number of rows of a program is tuned."""

import torch
import triton
import triton.language as tl

CONFIGS = [
    triton.Config({"ROWS": 2, "COLS": 64}, num_warps=2),
    triton.Config({"ROWS": 4, "COLS": 64}, num_warps=4),
    triton.Config({"ROWS": 8, "COLS": 32}, num_warps=4),
]
ROW_PAD = 4


class Padded:
    """Rows of any number, in a buffer of whole groups of rows."""

    def __init__(self, rows: int, columns: int, device: str = "cuda"):
        self.rows, self.columns = rows, columns
        self.room = triton.cdiv(rows, ROW_PAD) * ROW_PAD
        self.data = torch.zeros(self.room, columns, device=device)

    def fill(self) -> "Padded":
        total = self.rows * self.columns
        ramp_kernel[(triton.cdiv(total, 256),)](self.data, total, BLOCK=256)
        return self

    @property
    def live(self) -> torch.Tensor:
        return self.data[: self.rows]


@triton.jit
def ramp_kernel(x, total, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, at.to(tl.float32) / total, mask=at < total)


@triton.autotune(configs=CONFIGS, key=["rows", "columns"])
@triton.jit
def sum_kernel(x, out, rows, columns, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros([ROWS], tl.float32)
    for start in range(0, columns, COLS):
        column = start + tl.arange(0, COLS)
        block = tl.load(x + row[:, None] * columns + column[None, :], mask=(column < columns)[None, :], other=0.0)
        total += tl.sum(block, axis=1)
    tl.store(out + row, total, mask=row < rows)


@triton.jit
def divide_kernel(x, sums, rows, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    live = column < columns
    total = tl.load(sums + row)
    tl.store(x + row * columns + column, tl.load(x + row * columns + column, mask=live) / total, mask=live)


def normalised(padded: Padded) -> torch.Tensor:
    rows, columns = padded.rows, padded.columns
    sums = torch.empty(rows, device="cuda")
    sum_kernel[lambda meta: (triton.cdiv(rows, meta["ROWS"]),)](padded.data, sums, rows, columns)
    divide_kernel[(rows,)](padded.data, sums, rows, columns, BLOCK=triton.next_power_of_2(columns))
    return padded.live


def main() -> None:
    for rows, columns in ((32, 64), (61, 100), (17, 80)):
        out = normalised(Padded(rows, columns).fill())
        torch.cuda.synchronize()
        print(rows, columns, out.shape)


main()
