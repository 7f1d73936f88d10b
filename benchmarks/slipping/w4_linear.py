#!/usr/bin/env python
"""A linear layer of 4-bit weights in groups: calibration, packing, a fused kernel with a bias, and an nn.Module."""

import enum
import sys
from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import nn


class Scheme(enum.Enum):
    SYMMETRIC = "sym"
    AFFINE = "affine"


@dataclass(frozen=True)
class Layout:
    group: int = 32
    scheme: Scheme = Scheme.AFFINE

    def groups(self, depth: int) -> int:
        if depth % self.group:
            raise ValueError(f"{depth} is no multiple of the group {self.group}")
        return depth // self.group


@triton.jit
def pack_kernel(codes, packed, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    keep = column < columns
    low = tl.load(codes + 2 * row * columns + column, mask=keep, other=0)
    high = tl.load(codes + (2 * row + 1) * columns + column, mask=keep, other=0)
    tl.store(packed + row * columns + column, low | (high << 4), mask=keep)


@triton.jit
def nibbles(packed, which):
    return (packed >> (which * 4)) & 0xF


@triton.jit
def dequantise(codes, scale, zero, AFFINE: tl.constexpr):
    if AFFINE:
        centred = codes.to(tl.float16) - zero.to(tl.float16)
    else:
        centred = codes.to(tl.float16) - 8.0
    return centred * scale


@triton.jit
def linear_kernel(
    x, packed, scales, zeros, bias, out, rows, depth, columns,
    GROUP: tl.constexpr, AFFINE: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, GROUP)
    acc = tl.zeros([BM, BN], tl.float32)
    for group in range(depth // GROUP):
        at = group * GROUP + k
        tile = tl.load(x + m[:, None] * depth + at[None, :], mask=(m < rows)[:, None], other=0.0)
        both = tl.load(packed + (at // 2)[:, None] * columns + n[None, :], mask=(n < columns)[None, :], other=0)
        scale = tl.load(scales + group * columns + n, mask=n < columns, other=1.0)
        zero = tl.load(zeros + group * columns + n, mask=n < columns, other=8)
        weight = dequantise(nibbles(both, (at % 2)[:, None]), scale[None, :], zero[None, :], AFFINE)
        acc += tl.dot(tile, weight)
    acc += tl.load(bias + n, mask=n < columns, other=0.0).to(tl.float32)[None, :]
    inside = (m < rows)[:, None] & (n < columns)[None, :]
    tl.store(out + m[:, None] * columns + n[None, :], acc.to(tl.float16), mask=inside)


def quantise(weight: torch.Tensor, layout: Layout):
    depth, columns = weight.shape
    grouped = weight.float().reshape(layout.groups(depth), layout.group, columns)
    low, high = grouped.amin(1), grouped.amax(1)
    scale = ((high - low) / 15).clamp_min(1e-5)
    zero = (-low / scale).round().clamp(0, 15)
    codes = (grouped / scale[:, None] + zero[:, None]).round().clamp(0, 15)
    return codes.reshape(depth, columns).to(torch.int32), scale, zero.to(torch.int32)


class Linear4(nn.Module):
    def __init__(self, dense: nn.Linear, layout: Layout):
        super().__init__()
        self.layout = layout
        weight = dense.weight.detach().t().contiguous()
        codes, scales, zeros = quantise(weight, layout)
        packed = torch.empty(weight.shape[0] // 2, weight.shape[1], device=weight.device, dtype=torch.int32)
        pack_kernel[(packed.shape[0],)](codes, packed, weight.shape[1], BLOCK=triton.next_power_of_2(weight.shape[1]))
        for name, tensor in dict(packed=packed, scales=scales, zeros=zeros, bias=dense.bias.detach()).items():
            self.register_buffer(name, tensor)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.reshape(-1, x.shape[-1]).contiguous()
        out = torch.empty(flat.shape[0], self.packed.shape[1], device=x.device, dtype=torch.float16)
        grid = (triton.cdiv(flat.shape[0], 16), triton.cdiv(out.shape[1], 64))
        linear_kernel[grid](
            flat, self.packed, self.scales, self.zeros, self.bias, out, *flat.shape, out.shape[1],
            GROUP=self.layout.group, AFFINE=self.layout.scheme is Scheme.AFFINE, BM=16, BN=64,
        )
        return out.reshape(*x.shape[:-1], -1)


def main() -> int:
    torch.manual_seed(3)
    dense = nn.Linear(128, 96).to(device="cuda", dtype=torch.float16)
    layer = Linear4(dense, Layout())
    x = torch.randn(2, 5, 128, device="cuda", dtype=torch.float16)
    error = (layer(x).float() - dense(x).float()).abs().mean().item()
    print("mean error", round(error, 4))
    return 0 if error < 0.5 else 1


if __name__ == "__main__":
    sys.exit(main())
