"""Weights of a few bits each: a budget of bits a weight says how many of them share a scale; packing and unpacking."""

from __future__ import annotations

import logging
from typing import NamedTuple

import torch
import triton
import triton.language as tl

log = logging.getLogger(__name__)


class Format(NamedTuple):
    """Codes of so many bits, and what a weight may cost altogether; scales have 16 bits."""

    bits: int
    budget: float

    @property
    def group(self) -> int:
        """Weights that share a scale; 0 if the budget leaves nothing for scales."""
        spare = self.budget - self.bits
        return round(16 / spare) if spare > 0 else 0

    @property
    def levels(self) -> int:
        return 2 ** (self.bits - 1) - 1


PRESETS = {
    "plain8": Format(8, 8.0),
    "fine4": Format(4, 4.5),
    "coarse4": Format(4, 4.125),
    "small3": Format(3, 3.3333),
}


@triton.jit
def peak_kernel(weights, peak, amount, BLOCK: tl.constexpr):
    """The largest weight of all, for formats without groups."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(weights + at, mask=at < amount, other=0.0).to(tl.float32)
    tl.atomic_max(peak, tl.max(tl.abs(value), axis=0))


@triton.jit
def encode_kernel(
    weights, codes, scales, peak, amount, LEVELS: tl.constexpr, GROUP: tl.constexpr, BLOCK: tl.constexpr,
):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(weights + at, mask=at < amount, other=0.0).to(tl.float32)
    if GROUP > 0:
        groups: tl.constexpr = BLOCK // GROUP
        rows = tl.reshape(value, [groups, GROUP])
        scale = tl.maximum(tl.max(tl.abs(rows), axis=1), 1e-8) / LEVELS
        tl.store(scales + tl.program_id(0) * groups + tl.arange(0, groups), scale.to(tl.float16))
        code = tl.reshape(rows / scale[:, None], [BLOCK])
    else:
        code = value / (tl.load(peak) / LEVELS)
    tl.store(codes + at, tl.floor(code + 0.5).to(tl.int8), mask=at < amount)


@triton.jit
def decode_kernel(codes, scales, peak, out, amount, LEVELS: tl.constexpr, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < amount
    code = tl.load(codes + at, mask=keep, other=0).to(tl.float32)
    if GROUP > 0:
        scale = tl.load(scales + at // GROUP, mask=keep, other=0.0).to(tl.float32)
    else:
        scale = tl.load(peak) / LEVELS
    tl.store(out + at, (code * scale).to(out.dtype.element_ty), mask=keep)


class Packed:
    def __init__(self, weights: torch.Tensor, kind: Format, block: int = 512) -> None:
        self.shape, self.dtype, self.kind = weights.shape, weights.dtype, kind
        amount = weights.numel()
        self.codes = torch.empty(amount, dtype=torch.int8, device=weights.device)
        self.peak = torch.zeros(1, device=weights.device)
        groups = triton.cdiv(amount, block) * block // max(1, kind.group)
        self.scales = torch.empty(groups if kind.group else 1, dtype=torch.float16, device=weights.device)
        self.grid = (triton.cdiv(amount, block),)
        self.sizes = {"LEVELS": kind.levels, "GROUP": kind.group, "BLOCK": block}
        if not kind.group:
            peak_kernel[self.grid](weights, self.peak, amount, BLOCK=block)
        encode_kernel[self.grid](weights, self.codes, self.scales, self.peak, amount, **self.sizes)

    def unpack(self) -> torch.Tensor:
        out = torch.empty(self.shape, dtype=self.dtype, device=self.codes.device)
        decode_kernel[self.grid](self.codes, self.scales, self.peak, out, out.numel(), **self.sizes)
        return out


def main() -> None:
    logging.basicConfig(level=logging.INFO)
    for name, kind in PRESETS.items():
        for shape in ((48, 64), (32, 200)):
            weights = torch.randn(shape).half().cuda()
            packed = Packed(weights, kind)
            error = (packed.unpack() - weights).abs().mean()
            log.info("%s %s: %d scales, off by %.4f", name, shape, packed.scales.numel(), error.item())
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
