"""Feed-forward layers with weights of 8 bits and a scale for each group of them; decoding first, then a prompt."""

from __future__ import annotations

import dataclasses

import torch
import triton
import triton.language as tl


@dataclasses.dataclass(frozen=True)
class Plan:
    """How a launch is tiled; a step takes `depth` weights of each column, which have `groups` scales."""

    rows: int
    columns: int
    depth: int
    groups: int
    stages: int = 3

    @classmethod
    def decode(cls, group: int) -> Plan:
        depth = max(group, 64)
        return cls(rows=16, columns=64, depth=depth, groups=depth // group)

    def widened(self, rows: int) -> Plan:
        """Larger tiles and longer steps where more rows than those of one tile are there."""
        if rows <= self.rows:
            return self
        return dataclasses.replace(self, rows=min(64, triton.next_power_of_2(rows)), depth=2 * self.depth, stages=2)

    def grid(self, rows: int, columns: int) -> tuple[int, int]:
        return triton.cdiv(rows, self.rows), triton.cdiv(columns, self.columns)


@triton.jit
def quantise_kernel(weight, codes, scales, columns, GROUP: tl.constexpr, COLUMNS: tl.constexpr):
    """One group of some columns: the largest weight becomes 127."""
    group = tl.program_id(0)
    row = group * GROUP + tl.arange(0, GROUP)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    keep = (column < columns)[None, :]
    at = row[:, None] * columns + column[None, :]
    value = tl.load(weight + at, mask=keep, other=0.0)
    scale = tl.maximum(tl.max(tl.abs(value), axis=0), 1e-8) / 127.0
    scaled = value / scale[None, :]
    rounded = tl.where(scaled < 0.0, scaled - 0.5, scaled + 0.5)
    tl.store(codes + at, rounded.to(tl.int8), mask=keep)
    tl.store(scales + group * columns + column, scale, mask=column < columns)


@triton.jit
def spread(scales, first, column, columns, GROUP: tl.constexpr, GROUPS: tl.constexpr, COLUMNS: tl.constexpr):
    """The scales of some groups from the first on, once for each row of weights."""
    group = first + tl.arange(0, GROUPS)
    held = tl.load(scales + group[:, None] * columns + column[None, :], mask=(column < columns)[None, :], other=0.0)
    each = tl.broadcast_to(held[:, None, :], [GROUPS, GROUP, COLUMNS])
    return tl.reshape(each, [GROUPS * GROUP, COLUMNS])


@triton.jit
def linear_kernel(
    x, codes, scales, bias, out, rows, columns, inner,
    GROUP: tl.constexpr, GROUPS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, K: tl.constexpr,
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    for start in range(0, inner, K):
        k = start + tl.arange(0, K)
        a = tl.load(x + row[:, None] * inner + k[None, :], mask=(row < rows)[:, None], other=0.0)
        code = tl.load(codes + k[:, None] * columns + column[None, :], mask=(column < columns)[None, :], other=0)
        scale = spread(scales, start // GROUP, column, columns, GROUP, GROUPS, COLUMNS)
        total = tl.dot(a, (code.to(tl.float32) * scale).to(tl.float16), total)
    total += tl.load(bias + column, mask=column < columns, other=0.0)[None, :]
    keep = (row[:, None] < rows) & (column[None, :] < columns)
    tl.store(out + row[:, None] * columns + column[None, :], total.to(tl.float16), mask=keep)


@triton.jit
def gate_kernel(x, out, amount, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < amount, other=0.0).to(tl.float32)
    tl.store(out + at, (value * tl.sigmoid(1.702 * value)).to(tl.float16), mask=at < amount)


class GroupLinear:
    def __init__(self, inner: int, columns: int, group: int) -> None:
        self.inner, self.columns, self.group, self.plan = inner, columns, group, Plan.decode(group)
        weight = torch.randn(inner, columns, device="cuda") / inner**0.5
        self.codes = torch.empty(inner, columns, dtype=torch.int8, device="cuda")
        self.scales = torch.empty(inner // group, columns, device="cuda")
        self.bias = torch.zeros(columns, device="cuda")
        grid = inner // group, triton.cdiv(columns, 32)
        quantise_kernel[grid](weight, self.codes, self.scales, columns, GROUP=group, COLUMNS=32)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        rows, plan = x.shape[0], self.plan.widened(x.shape[0])
        out = x.new_empty(rows, self.columns)
        linear_kernel[plan.grid(rows, self.columns)](
            x, self.codes, self.scales, self.bias, out, rows, self.columns, self.inner,
            GROUP=self.group, GROUPS=plan.groups, ROWS=plan.rows, COLUMNS=plan.columns, K=plan.depth,
            num_stages=plan.stages,
        )
        return out


def main() -> None:
    up, down = GroupLinear(256, 384, group=32), GroupLinear(384, 256, group=64)
    for name, rows in (("one token", 1), ("a batch of tokens", 12), ("a prompt", 50)):
        x = torch.randn(rows, 256, dtype=torch.float16, device="cuda")
        middle = up(x)
        opened = torch.empty_like(middle)
        gate_kernel[(triton.cdiv(middle.numel(), 512),)](middle, opened, middle.numel(), BLOCK=512)
        out = x + down(opened)
        torch.cuda.synchronize()
        print(f"{name}: {tuple(out.shape)}")


if __name__ == "__main__":
    main()
