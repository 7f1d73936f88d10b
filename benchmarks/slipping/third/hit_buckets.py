"""Hits of a particle detector, put into one bucket for each layer and summed up there."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import collections
import functools
import random

import torch
import triton
import triton.language as tl

Hit = collections.namedtuple("Hit", "layer energy")
tiles_of = functools.partial(triton.cdiv, y=128)


@triton.jit
def calibrate_kernel(energies, layers, factors, amount, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    layer = tl.load(layers + at, mask=at < amount, other=0)
    value = tl.load(energies + at, mask=at < amount, other=0.0)
    tl.store(energies + at, value * tl.load(factors + layer), mask=at < amount)


@triton.jit
def count_kernel(layers, counts, amount, BINS: tl.constexpr, BLOCK: tl.constexpr):
    """Hits of each layer in one tile. Lanes beyond the last hit go to the last bin, which no layer has."""
    tile = tl.program_id(0)
    at = tile * BLOCK + tl.arange(0, BLOCK)
    layer = tl.load(layers + at, mask=at < amount, other=BINS - 1)
    bins = tl.arange(0, BINS)
    found = tl.sum((layer[:, None] == bins[None, :]).to(tl.int32), axis=0)
    tl.store(counts + tile * BINS + bins, found)


@triton.jit
def place_kernel(energies, layers, starts, target, amount, BINS: tl.constexpr, BLOCK: tl.constexpr):
    """Each hit to its bucket, in the order in which they came; `starts` is where a tile's part of a bucket begins."""
    tile = tl.program_id(0)
    at = tile * BLOCK + tl.arange(0, BLOCK)
    keep = at < amount
    layer = tl.load(layers + at, mask=keep, other=BINS - 1)
    mine = (layer[:, None] == tl.arange(0, BINS)[None, :]).to(tl.int32)
    rank = tl.sum(mine * (tl.cumsum(mine, axis=0) - 1), axis=1)
    start = tl.load(starts + tile * BINS + layer)
    tl.store(target + start + rank, tl.load(energies + at, mask=keep, other=0.0), mask=keep)


class Buckets:
    """Sorts hits of a detector with so many layers."""

    def __init__(self, layers):
        self.layers = layers
        sizes = {"BINS": triton.next_power_of_2(layers), "BLOCK": 128}
        self.bins = sizes["BINS"]
        self.count, self.place = (functools.partial(self.launch, k, **sizes) for k in (count_kernel, place_kernel))

    @staticmethod
    def launch(kernel, amount, *tensors, **sizes):
        kernel[(tiles_of(amount),)](*tensors, amount, **sizes)

    def sort(self, energies, layers):
        amount = energies.numel()
        counts = torch.empty(tiles_of(amount), self.bins, dtype=torch.int32)
        self.count(amount, layers, counts)
        totals = counts.sum(0)
        before = totals.cumsum(0) - totals
        starts = (before + counts.cumsum(0) - counts).to(torch.int32)
        target = torch.empty_like(energies)
        self.place(amount, energies, layers, starts, target)
        return target.split(totals[: self.layers].tolist())


def shower(amount, layers, seed):
    source = random.Random(seed)
    for _ in range(amount):
        yield Hit(min(layers - 1, int(source.expovariate(0.3))), source.uniform(0.5, 20.0))


def measure(amount, layers, seed=3):
    hits = list(shower(amount, layers, seed))
    which = torch.tensor([hit.layer for hit in hits], dtype=torch.int32)
    energies = torch.tensor([hit.energy for hit in hits])
    factors = torch.linspace(1.0, 1.3, layers)
    calibrate_kernel[(tiles_of(amount),)](energies, which, factors, amount, BLOCK=128)
    return [bucket.sum().item() for bucket in Buckets(layers).sort(energies, which)]


def main():
    for amount, layers in ((300, 12), (512, 16), (700, 16)):
        sums = measure(amount, layers)
        deepest = max(range(layers), key=sums.__getitem__)
        print(f"{amount} hits in {layers} layers: most of the energy, {sums[deepest]:.1f}, in layer {deepest}")


if __name__ == "__main__":
    main()
