"""Quantises activations by groups of columns and brings them back: two kernels share the address of a scale."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_at(scales, row, column, per_row, GROUP: tl.constexpr):
    return scales + row * per_row + column // GROUP


@triton.jit
def absmax_kernel(x, scales, columns, GROUP: tl.constexpr):
    row, group = tl.program_id(0), tl.program_id(1)
    column = group * GROUP + tl.arange(0, GROUP)
    value = tl.load(x + row * columns + column, mask=column < columns, other=0.0)
    tl.store(scale_at(scales, row, group * GROUP, tl.cdiv(columns, GROUP), GROUP), tl.max(tl.abs(value), axis=0) / 127.0)


@triton.jit
def quantise_kernel(x, scales, out, rows, columns, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = at < rows * columns
    row, column = at // columns, at % columns
    groups = tl.cdiv(columns, GROUP)
    scale = tl.load(scale_at(scales, row, column, groups, GROUP), mask=live, other=1.0)
    value = tl.load(x + at, mask=live, other=0.0)
    tl.store(out + at, (value / scale).to(tl.int8), mask=live)


@triton.jit
def restore_kernel(q, scales, out, rows, columns, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = at < rows * columns
    row, column = at // columns, at % columns
    groups = columns // GROUP + 1
    scale = tl.load(scale_at(scales, row, column, groups, GROUP), mask=live, other=1.0)
    tl.store(out + at, tl.load(q + at, mask=live, other=0).to(tl.float32) * scale, mask=live)


class Quantised:
    GROUP = 32

    def __init__(self, x: torch.Tensor):
        self.rows, self.columns = x.shape
        groups = triton.cdiv(self.columns, self.GROUP)
        self.scales = torch.empty(self.rows, groups, device=x.device)
        self.values = torch.empty(self.rows, self.columns, dtype=torch.int8, device=x.device)
        absmax_kernel[(self.rows, groups)](x, self.scales, self.columns, GROUP=self.GROUP)
        quantise_kernel[self.grid](
            x, self.scales, self.values, self.rows, self.columns, GROUP=self.GROUP, BLOCK=128
        )

    @property
    def grid(self) -> tuple[int]:
        return (triton.cdiv(self.rows * self.columns, 128),)

    def restored(self) -> torch.Tensor:
        out = torch.empty(self.rows, self.columns, device=self.scales.device)
        restore_kernel[self.grid](
            self.values, self.scales, out, self.rows, self.columns, GROUP=self.GROUP, BLOCK=128
        )
        return out


def main() -> None:
    torch.manual_seed(0)
    for rows, columns in ((16, 48), (5, 100), (24, 64)):
        back = Quantised(torch.randn(rows, columns, device="cuda")).restored()
        torch.cuda.synchronize()
        print(rows, columns, back.shape)


if __name__ == "__main__":
    main()
