"""Means of bags of 8-bit embeddings in integers: lengths come from offsets, then one program pools one bag."""

import argparse
import random
import sys
from typing import Sequence

import torch
import triton
import triton.language as tl


@triton.jit
def lengths_kernel(offsets, lengths, divisors, bags, amount, BLOCK: tl.constexpr):
    bag = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = bag < bags
    first = tl.load(offsets + bag, mask=keep, other=0)
    last = tl.load(offsets + bag + 1, mask=bag + 1 < bags, other=amount)
    tl.store(lengths + bag, last - first, mask=keep)
    tl.store(divisors + bag, tl.maximum(last - first, 0), mask=keep)


@triton.jit
def longest_kernel(lengths, longest, bags, BLOCK: tl.constexpr):
    most = 0
    for start in range(0, bags, BLOCK):
        at = start + tl.arange(0, BLOCK)
        most = tl.maximum(most, tl.max(tl.load(lengths + at, mask=at < bags, other=0), axis=0))
    tl.store(longest, most)


@triton.jit
def halved(total, count):
    """The quotient, rounded to the nearest, away from zero at halves."""
    half = count // 2
    return tl.where(total < 0, total - half, total + half) // count


@triton.jit
def pool_kernel(
    table, indices, offsets, lengths, divisors, out, columns, MEAN: tl.constexpr, BLOCK: tl.constexpr
):
    bag = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    keep = column < columns
    first = tl.load(offsets + bag)
    count = tl.load(lengths + bag)
    total = tl.zeros([BLOCK], tl.int32)
    for i in range(count):
        row = tl.load(indices + first + i)
        total += tl.load(table + row * columns + column, mask=keep, other=0).to(tl.int32)
    if MEAN:
        total = halved(total, tl.load(divisors + bag))
    tl.store(out + bag * columns + column, total, mask=keep)


@triton.jit
def rescale_kernel(x, out, scale, amount, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < amount
    tl.store(out + at, tl.load(x + at, mask=keep, other=0).to(tl.float32) * scale, mask=keep)


class Bags:
    """Ragged lists as indices and offsets, as torch's EmbeddingBag takes them."""

    def __init__(self, lists: Sequence[Sequence[int]]):
        flat, offsets = [], []
        for one in lists:
            offsets.append(len(flat))
            flat.extend(one)
        self.indices = torch.tensor(flat, dtype=torch.int32, device="cuda")
        self.offsets = torch.tensor(offsets, dtype=torch.int32, device="cuda")

    def __len__(self):
        return self.offsets.numel()

    def lengths(self):
        lengths, divisors = torch.empty_like(self.offsets), torch.empty_like(self.offsets)
        lengths_kernel[(triton.cdiv(len(self), 64),)](
            self.offsets, lengths, divisors, len(self), self.indices.numel(), BLOCK=64
        )
        return lengths, divisors


class Embedding8:
    def __init__(self, rows: int, columns: int, mode: str):
        weight = torch.randn(rows, columns)
        self.scale = weight.abs().max().item() / 127
        self.table = (weight / self.scale).round().to(torch.int8).cuda()
        self.mode = mode

    def __call__(self, bags: Bags):
        columns = self.table.shape[1]
        lengths, divisors = bags.lengths()
        total = torch.empty(len(bags), columns, dtype=torch.int32, device="cuda")
        pool_kernel[(len(bags),)](
            self.table, bags.indices, bags.offsets, lengths, divisors, total, columns,
            MEAN=self.mode == "mean", BLOCK=triton.next_power_of_2(columns),
        )
        out = torch.empty(total.shape, device="cuda")
        rescale_kernel[(triton.cdiv(out.numel(), 256),)](total, out, self.scale, out.numel(), BLOCK=256)
        return out


def clicks(users: int, items: int, seed: int):
    """What each user clicked in one session; about every sixth clicked nothing."""
    draw = random.Random(seed)
    return [[draw.randrange(items) for _ in range(draw.randrange(6))] for _ in range(users)]


def main(argv=None) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=["sum", "mean"], default="mean")
    parser.add_argument("--users", type=int, default=24)
    parser.add_argument("--seed", type=int, default=5)
    args = parser.parse_args(argv)
    torch.manual_seed(args.seed)
    embedding = Embedding8(50, 20, args.mode)
    bags = Bags(clicks(args.users, 50, args.seed))
    longest = torch.zeros(1, dtype=torch.int32, device="cuda")
    longest_kernel[(1,)](bags.lengths()[0], longest, len(bags), BLOCK=32)
    pooled = embedding(bags)
    torch.cuda.synchronize()
    print("longest", longest.item(), "spread", pooled.std().item())
    return 0


if __name__ == "__main__":
    sys.exit(main())
