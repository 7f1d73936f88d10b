"""Histograms of signals in memory that is taken from a pool of bytes, which grows and is kept from call to call."""

from __future__ import annotations

import logging
from typing import NamedTuple

import torch
import triton
import triton.language as tl

log = logging.getLogger("byte_pool")


class Signal(NamedTuple):
    """What is measured: how many samples, of what type, and into how many bins they go."""

    name: str
    samples: int
    dtype: torch.dtype
    bins: int = 16


class Pool:
    """Bytes for tensors of any type; a larger one takes new memory, others lie in what is there."""

    def __init__(self) -> None:
        self.bytes = torch.empty(0, dtype=torch.uint8, device="cuda")
        self.width = torch.empty((), dtype=torch.float32).element_size()
        self.grown = 0

    def take(self, count: int, dtype: torch.dtype) -> torch.Tensor:
        needed = count * self.width
        if self.bytes.numel() < needed:
            self.bytes = torch.empty(needed, dtype=torch.uint8, device="cuda")
            self.grown += 1
        taken = self.bytes[: needed // 16 * 16].view(dtype)
        self.width = dtype.itemsize
        return taken


@triton.jit
def wave_kernel(out, samples, period, BLOCK: tl.constexpr):
    """Teeth of a saw, of so many samples each."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = (at % period).to(tl.float32) / period
    tl.store(out + at, value.to(out.dtype.element_ty), mask=at < samples)


@triton.jit
def smooth_kernel(x, out, samples, REACH: tl.constexpr, BLOCK: tl.constexpr):
    """Means over some neighbours, of which there are fewer at the ends."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    counted = tl.zeros([BLOCK], tl.float32)
    for step in tl.static_range(-REACH, REACH + 1):
        inside = (at + step >= 0) & (at + step < samples)
        total += tl.load(x + at + step, mask=inside, other=0.0).to(tl.float32)
        counted += inside.to(tl.float32)
    tl.store(out + at, total / tl.maximum(counted, 1.0), mask=at < samples)


@triton.jit
def bins_kernel(x, counts, samples, BINS: tl.constexpr, BLOCK: tl.constexpr):
    """How many samples are in one bin."""
    bin = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.int32)
    for start in range(0, samples, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + at, mask=at < samples, other=-1.0)
        total += (tl.minimum((value * BINS).to(tl.int32), BINS - 1) == bin).to(tl.int32)
    tl.store(counts + bin, tl.sum(total, axis=0))


class Meter:
    def __init__(self, block: int = 128) -> None:
        self.pool, self.block = Pool(), block

    def measure(self, signal: Signal) -> torch.Tensor:
        grid = (triton.cdiv(signal.samples, self.block),)
        wave = self.pool.take(signal.samples, signal.dtype)
        wave_kernel[grid](wave, signal.samples, 50, BLOCK=self.block)
        smooth = torch.empty(signal.samples, device="cuda")
        smooth_kernel[grid](wave, smooth, signal.samples, REACH=2, BLOCK=self.block)
        counts = torch.zeros(signal.bins, dtype=torch.int32, device="cuda")
        bins_kernel[(signal.bins,)](smooth, counts, signal.samples, BINS=signal.bins, BLOCK=self.block)
        return counts


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    meter = Meter()
    signals = [
        Signal("voice", 320, torch.float32), Signal("noise", 256, torch.float32, bins=8),
        Signal("music", 512, torch.float16), Signal("hum", 640, torch.float32), Signal("bell", 128, torch.float16),
    ]
    for signal in signals:
        counts = meter.measure(signal)
        torch.cuda.synchronize()
        log.info("%s: %d bins, the pool grew %d times", signal.name, counts.numel(), meter.pool.grown)


if __name__ == "__main__":
    main()
