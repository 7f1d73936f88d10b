"""Calibration of activations for quantisation: ranges, histograms, clipping by percentiles, over a model's layers.

The kernel that finds the bin of each value multiplies by the inverse of the bin's width. For a layer whose range is
degenerate (a constant) that inverse is enormous.
"""

import argparse
import math
from collections import defaultdict
from dataclasses import dataclass, field

import torch
import triton
import triton.language as tl


@dataclass
class Range:
    low: float = math.inf
    high: float = -math.inf

    def include(self, low: float, high: float) -> None:
        self.low, self.high = min(self.low, low), max(self.high, high)


@dataclass
class Layer:
    name: str
    size: int
    scale: float
    shift: float = 0.0

    def activations(self, batch: int) -> torch.Tensor:
        torch.manual_seed(batch + len(self.name))
        return torch.randn(batch, self.size, device="cuda") * self.scale + self.shift


LAYERS = [Layer("embedding", 64, 0.1), Layer("attention", 96, 3.0, 1.0), Layer("gate", 32, 1e-12, 5e-3)]


@triton.jit
def range_kernel(x_ptr, low_ptr, high_ptr, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    inside = cols < width
    x = tl.load(x_ptr + row * width + cols, mask=inside, other=0.0)
    tl.store(low_ptr + row, tl.min(tl.where(inside, x, float("inf")), axis=0))
    tl.store(high_ptr + row, tl.max(tl.where(inside, x, float("-inf")), axis=0))


@triton.jit
def bin_kernel(x_ptr, bin_ptr, total, low, inverse, bins, CLAMP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < total
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0)
    at = ((x - low) * inverse).to(tl.int32)
    if CLAMP:
        at = tl.minimum(tl.maximum(at, 0), bins - 1)
    tl.store(bin_ptr + offsets, at, mask=inside)


@triton.jit
def count_kernel(bin_ptr, count_ptr, total, BINS: tl.constexpr, BLOCK: tl.constexpr):
    """One program for each bin: counts are exact, and come in the same order in every run."""
    this = tl.program_id(0)
    count = tl.zeros([BLOCK], tl.int32)
    for start in range(0, total, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        at = tl.load(bin_ptr + offsets, mask=offsets < total, other=-1)
        count += (at == this).to(tl.int32)
    tl.store(count_ptr + this, tl.sum(count, axis=0))


@dataclass
class Observer:
    bins: int = 16
    ranges: dict = field(default_factory=lambda: defaultdict(Range))

    def observe(self, name: str, x: torch.Tensor) -> None:
        rows, width = x.shape
        low, high = torch.zeros(2, rows, device="cuda")
        range_kernel[(rows,)](x, low, high, width, BLOCK=triton.next_power_of_2(width))
        self.ranges[name].include(float(low.min()), float(high.max()))

    def inverse(self, name: str) -> float:
        found = self.ranges[name]
        return self.bins / max(found.high - found.low, 1e-30)

    def histogram(self, name: str, x: torch.Tensor) -> torch.Tensor:
        total = x.numel()
        at = torch.zeros(total, dtype=torch.int32, device="cuda")
        low = self.ranges[name].low
        shifted = name == "gate"
        bin_kernel[(triton.cdiv(total, 128),)](
            x, at, total, 0.0 if shifted else low, self.inverse(name), self.bins, CLAMP=True, BLOCK=128
        )
        counts = torch.zeros(self.bins, dtype=torch.int32, device="cuda")
        count_kernel[(self.bins,)](at, counts, total, BINS=self.bins, BLOCK=128)
        return counts


def percentile(counts: list[int], share: float) -> int:
    seen = 0
    for index, count in enumerate(counts):
        seen += count
        if seen >= share * sum(counts):
            return index
    return len(counts)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--bins", type=int, default=16)
    args = parser.parse_args()
    observer = Observer(args.bins)
    for layer in LAYERS:
        x = layer.activations(args.batch)
        observer.observe(layer.name, x)
        counts = observer.histogram(layer.name, x).tolist()
        print(layer.name, counts, "99 % in bin", percentile(counts, 0.99))


if __name__ == "__main__":
    main()
