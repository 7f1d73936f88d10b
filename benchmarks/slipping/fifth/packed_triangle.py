"""Correlations of daily returns: covariances of all pairs in a packed lower triangle, which is then scaled."""

from __future__ import annotations

import dataclasses
import sys

import torch
import triton
import triton.language as tl


@dataclasses.dataclass
class Triangle:
    """The lower triangle of a symmetric matrix, row behind row; pairs of a thing with itself are optional."""

    size: int
    diagonal: bool = False
    data: torch.Tensor | None = None

    def __post_init__(self) -> None:
        if self.data is None:
            self.data = torch.empty(self.entries, device="cuda")

    @property
    def entries(self) -> int:
        if self.diagonal:
            return self.size * (self.size + 1) // 2
        return self.size * (self.size - 1) // 2

    def like(self) -> Triangle:
        """Another one of this shape, not filled yet."""
        return Triangle(self.size)

    def tiles(self, side: int) -> tuple[int, int]:
        return triton.cdiv(self.size, side), triton.cdiv(self.size, side)


@triton.jit
def entry(i, j):
    """Where a pair of a packed triangle lies that has its diagonal."""
    return i * (i + 1) // 2 + j


@triton.jit
def centre_kernel(returns, centred, days, assets, BLOCK: tl.constexpr):
    asset = tl.program_id(0)
    day = tl.arange(0, BLOCK)
    value = tl.load(returns + day * assets + asset, mask=day < days, other=0.0)
    value = tl.where(day < days, value - tl.sum(value, axis=0) / days, 0.0)
    tl.store(centred + asset * BLOCK + day, value)


@triton.jit
def covariance_kernel(centred, packed, days, assets, DAYS: tl.constexpr, SIDE: tl.constexpr):
    if tl.program_id(1) <= tl.program_id(0):
        i = tl.program_id(0) * SIDE + tl.arange(0, SIDE)
        j = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
        day = tl.arange(0, DAYS)
        a = tl.load(centred + i[:, None] * DAYS + day[None, :], mask=i[:, None] < assets, other=0.0)
        b = tl.load(centred + j[:, None] * DAYS + day[None, :], mask=j[:, None] < assets, other=0.0)
        products = tl.dot(a, tl.trans(b), input_precision="ieee") / (days - 1)
        keep = (j[None, :] <= i[:, None]) & (i[:, None] < assets)
        tl.store(packed + entry(i[:, None], j[None, :]), products, mask=keep)


@triton.jit
def correlation_kernel(packed, out, assets, BLOCK: tl.constexpr):
    """One row of the triangle: each covariance by the deviations of both of its assets."""
    i = tl.program_id(0)
    mine = tl.sqrt(tl.load(packed + entry(i, i)))
    for start in range(0, i + 1, BLOCK):
        j = start + tl.arange(0, BLOCK)
        theirs = tl.sqrt(tl.load(packed + entry(j, j), mask=j <= i, other=1.0))
        value = tl.load(packed + entry(i, j), mask=j <= i, other=0.0) / (mine * theirs)
        tl.store(out + entry(i, j), value, mask=j <= i)


def covariances(returns: torch.Tensor, side: int = 16) -> Triangle:
    days, assets = returns.shape
    block = triton.next_power_of_2(days)
    centred = torch.empty(assets, block, device=returns.device)
    centre_kernel[(assets,)](returns, centred, days, assets, BLOCK=block)
    packed = Triangle(assets, diagonal=True)
    covariance_kernel[packed.tiles(side)](centred, packed.data, days, assets, DAYS=block, SIDE=side)
    return packed


def correlations(packed: Triangle) -> Triangle:
    out = packed.like()
    correlation_kernel[(packed.size,)](packed.data, out.data, packed.size, BLOCK=16)
    return out


def unpacked(triangle: Triangle) -> torch.Tensor:
    row, column = torch.tril_indices(triangle.size, triangle.size, 0 if triangle.diagonal else -1)
    full = torch.eye(triangle.size, device=triangle.data.device)
    full[row, column] = full[column, row] = triangle.data
    return full


def main(days: int = 60, *amounts: int) -> None:
    for assets in amounts or (16, 40):
        market = torch.randn(days, 1)
        returns = (0.01 * torch.randn(days, assets) + 0.005 * market).cuda()
        result = unpacked(correlations(covariances(returns)))
        torch.cuda.synchronize()
        print(f"{assets} assets, mean correlation {result.mean().item():.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
