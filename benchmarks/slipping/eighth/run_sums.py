"""Running sums of long lists, block by block: sums of blocks, what is before each, and the sums within them."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import argparse
import itertools

import torch
import triton
import triton.language as tl


@triton.jit
def block_sums_kernel(x, sums, amount, BLOCK: tl.constexpr):
    """What each block adds up to."""
    block = tl.program_id(0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    tl.store(sums + block, tl.sum(tl.load(x + at, mask=at < amount, other=0.0), axis=0))


@triton.jit
def before_kernel(sums, before, blocks):
    """What all blocks before each one add up to."""
    total = 0.0
    for block in range(0, blocks):
        tl.store(before + block, total)
        total += tl.load(sums + block)


@triton.jit
def weighted(value, at, amount, DECAY: tl.constexpr):
    """Later elements count less where they are wanted to."""
    if DECAY:
        value = value * (1.0 - at.to(tl.float32) / amount)
    return value


@triton.jit
def weigh_kernel(x, out, amount, DECAY: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < amount, other=0.0)
    tl.store(out + at, weighted(value, at, amount, DECAY), mask=at < amount)


@triton.jit
def within_kernel(x, before, out, amount, BLOCK: tl.constexpr):
    block = tl.program_id(0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < amount, other=0.0)
    tl.store(out + at, tl.load(before + block) + tl.cumsum(value, axis=0), mask=at < amount)


class Sums:
    """Memory and sizes for lists of one length."""

    def __init__(self, amount, block, decay=False):
        self.amount, self.block, self.decay = amount, block, decay
        self.grid = (triton.cdiv(amount, block),)
        self.full = amount // block
        self.sums = torch.zeros(self.grid[0])
        self.before = torch.zeros(self.grid[0])

    def __call__(self, x):
        weighed, out = torch.empty_like(x), torch.empty_like(x)
        weigh_kernel[self.grid](x, weighed, self.amount, DECAY=self.decay, BLOCK=self.block)
        block_sums_kernel[self.grid](weighed, self.sums, self.amount, BLOCK=self.block)
        before_kernel[(1,)](self.sums, self.before, self.full)
        within_kernel[self.grid](weighed, self.before, out, self.amount, BLOCK=self.block)
        return out


def expected(x, decay):
    weights = 1.0 - torch.arange(len(x)) / len(x) if decay else torch.ones(len(x))
    return (x * weights).cumsum(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--amounts", type=int, nargs="+", default=[64, 96, 100])
    parser.add_argument("--block", type=int, default=16)
    args = parser.parse_args()
    for amount, decay in itertools.product(args.amounts, (False, True)):
        x = torch.rand(amount, generator=torch.Generator().manual_seed(amount)) + 0.5
        off = (Sums(amount, args.block, decay)(x) - expected(x, decay)).abs().max().item()
        if off > 1e-2:
            raise SystemExit(f"{amount} elements, decay {decay}: running sums are off by {off:.3f}")
        print(f"{amount} elements, decay {decay}: fine")


if __name__ == "__main__":
    main()
