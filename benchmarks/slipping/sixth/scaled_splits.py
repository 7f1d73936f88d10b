"""Products of matrices of 8 bits with a scale for each group of columns; the inner dimension may be split."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import dataclasses

import torch
import triton
import triton.language as tl


@dataclasses.dataclass(frozen=True)
class Plan:
    """Inner columns that a step takes, steps that share a scale, and parts of the inner dimension."""

    step: int = 16
    steps_per_group: int = 2
    splits: int = 1

    @property
    def group(self):
        return self.step * self.steps_per_group

    def span(self, inner):
        """Steps of each part; the last one may have fewer."""
        return triton.cdiv(triton.cdiv(inner, self.step), self.splits)


@triton.jit
def encode_kernel(x, codes, scales, inner, groups, GROUP: tl.constexpr):
    row, group = tl.program_id(0), tl.program_id(1)
    at = group * GROUP + tl.arange(0, GROUP)
    value = tl.load(x + row * inner + at, mask=at < inner, other=0.0)
    scale = tl.maximum(tl.max(tl.abs(value), axis=0), 1e-6) / 127.0
    tl.store(scales + row * groups + group, scale)
    tl.store(codes + row * inner + at, tl.floor(value / scale + 0.5).to(tl.int8), mask=at < inner)


@triton.jit
def codes_at(codes, row, k, rows, inner):
    keep = (row[:, None] < rows) & (k[None, :] < inner)
    return tl.load(codes + row[:, None] * inner + k[None, :], mask=keep, other=0).to(tl.float32)


@triton.jit
def part_kernel(
    a, a_scales, b, b_scales, parts, rows, columns, inner, groups, span,
    STEP: tl.constexpr, SHARED: tl.constexpr, TILE: tl.constexpr,
):
    """One tile of one part: codes are summed within a group, and each full sum gets the scales of its group."""
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    column = tl.program_id(1) * TILE + tl.arange(0, TILE)
    begin = tl.program_id(2) * span
    end = tl.minimum(begin + span, tl.cdiv(inner, STEP))
    total = tl.zeros([TILE, TILE], tl.float32)
    codes = tl.zeros([TILE, TILE], tl.float32)
    for step in range(begin, end):
        k = step * STEP + tl.arange(0, STEP)
        left, right = codes_at(a, row, k, rows, inner), codes_at(b, column, k, columns, inner)
        codes = tl.dot(left, tl.trans(right), codes, input_precision="ieee")
        if ((step - begin + 1) % SHARED == 0) | (step + 1 == end):
            group = step // SHARED
            left_scale = tl.load(a_scales + row * groups + group, mask=row < rows, other=0.0)
            right_scale = tl.load(b_scales + column * groups + group, mask=column < columns, other=0.0)
            total += codes * left_scale[:, None] * right_scale[None, :]
            codes = tl.zeros([TILE, TILE], tl.float32)
    keep = (row[:, None] < rows) & (column[None, :] < columns)
    place = tl.program_id(2) * rows * columns + row[:, None] * columns + column[None, :]
    tl.store(parts + place, total, mask=keep)


@triton.jit
def sum_kernel(parts, bias, out, amount, columns, splits, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < amount
    value = tl.load(bias + at % columns, mask=keep, other=0.0)
    for split in range(0, splits):
        value += tl.load(parts + split * amount + at, mask=keep, other=0.0)
    tl.store(out + at, value, mask=keep)


class Codes:
    """A matrix of 8 bits, with scales of its rows by groups."""

    def __init__(self, x, plan):
        rows, inner = x.shape
        self.groups = triton.cdiv(inner, plan.group)
        self.codes, self.plan = torch.empty(rows, inner, dtype=torch.int8), plan
        self.scales = torch.empty(rows, self.groups)
        encode_kernel[(rows, self.groups)](x, self.codes, self.scales, inner, self.groups, GROUP=plan.group)

    def dense(self):
        return self.codes * self.scales.repeat_interleave(self.plan.group, 1)[:, : self.codes.shape[1]]


def linear(x, weight, bias, plan, tile=16):
    (rows, inner), columns = x.codes.shape, weight.codes.shape[0]
    parts, out = torch.empty(plan.splits, rows, columns), torch.empty(rows, columns)
    grid = triton.cdiv(rows, tile), triton.cdiv(columns, tile), plan.splits
    part_kernel[grid](
        x.codes, x.scales, weight.codes, weight.scales, parts, rows, columns, inner, x.groups, plan.span(inner),
        STEP=plan.step, SHARED=plan.steps_per_group, TILE=tile,
    )
    sum_kernel[(triton.cdiv(out.numel(), 64),)](parts, bias, out, out.numel(), columns, plan.splits, BLOCK=64)
    return out


def main():
    torch.manual_seed(0)
    bias = torch.randn(20)
    for inner, plan in ((64, Plan()), (128, Plan(splits=2)), (96, Plan(splits=2))):
        loudness = torch.linspace(0.2, 4.0, inner)  # outliers are among the last columns
        x, weight = Codes(torch.randn(12, inner) * loudness, plan), Codes(torch.randn(20, inner), plan)
        out = linear(x, weight, bias, plan)
        torch.testing.assert_close(out, x.dense() @ weight.dense().T + bias, rtol=1e-3, atol=1e-3)
        print(f"{inner} inner columns in {plan.splits} parts: fine")


if __name__ == "__main__":
    main()
