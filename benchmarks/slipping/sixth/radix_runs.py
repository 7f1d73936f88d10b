"""Distinct keys of a column and how often each occurs: a radix sort by digits of 4 bits, then heads of runs."""

from __future__ import annotations

import os

os.environ["TRITON_INTERPRET"] = "1"

import dataclasses
import logging

import torch
import triton
import triton.language as tl

log = logging.getLogger("radix")
BITS = 4


@dataclasses.dataclass
class Plan:
    """How keys are sorted: passes over digits, the lowest first, and blocks of a pass."""

    amount: int
    largest: int
    block: int = 32

    @property
    def passes(self) -> int:
        """One for each digit that the largest key has."""
        return triton.cdiv(self.largest.bit_length(), BITS)

    @property
    def grid(self) -> tuple[int]:
        return (triton.cdiv(self.amount, self.block),)


@triton.jit
def digits_of(keys, at, amount, shift, RADIX: tl.constexpr):
    """The digits of a block of keys, and one row of a table for each key that has a one at its digit."""
    key = tl.load(keys + at, mask=at < amount, other=0)
    digit = (key >> shift) & (RADIX - 1)
    table = (digit[:, None] == tl.arange(0, RADIX)[None, :]) & (at < amount)[:, None]
    return key, digit, table.to(tl.int32)


@triton.jit
def count_kernel(keys, counts, amount, shift, RADIX: tl.constexpr, BLOCK: tl.constexpr):
    block = tl.program_id(0)
    key, digit, table = digits_of(keys, block * BLOCK + tl.arange(0, BLOCK), amount, shift, RADIX)
    tl.store(counts + tl.arange(0, RADIX) * tl.num_programs(0) + block, tl.sum(table, axis=0))


@triton.jit
def scatter_kernel(keys, out, starts, amount, shift, RADIX: tl.constexpr, BLOCK: tl.constexpr):
    """Keys go behind those of lower digits, of earlier blocks, and of earlier places in their block."""
    block = tl.program_id(0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    key, digit, table = digits_of(keys, at, amount, shift, RADIX)
    rank = tl.sum(tl.where(table == 1, tl.cumsum(table, axis=0) - 1, 0), axis=1)
    start = tl.load(starts + digit * tl.num_programs(0) + block, mask=at < amount, other=0)
    tl.store(out + start + rank, key, mask=at < amount)


@triton.jit
def heads_kernel(keys, heads, amount, BLOCK: tl.constexpr):
    """A one where a run of equal keys begins."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    key = tl.load(keys + at, mask=at < amount, other=0)
    before = tl.load(keys + at - 1, mask=(at > 0) & (at < amount), other=-1)
    tl.store(heads + at, (key != before).to(tl.int32), mask=at < amount)


@triton.jit
def runs_kernel(keys, heads, places, distinct, begins, amount, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    head = tl.load(heads + at, mask=at < amount, other=0) == 1
    place = tl.load(places + at, mask=head, other=1) - 1
    tl.store(distinct + place, tl.load(keys + at, mask=head, other=0), mask=head)
    tl.store(begins + place, at, mask=head)


def sort(keys: torch.Tensor, plan: Plan) -> None:
    """Sorts keys where they are, with room for as many more."""
    source, target = keys, torch.empty_like(keys)
    counts = keys.new_empty(2**BITS, plan.grid[0])
    for digit in range(plan.passes):
        rest = {"RADIX": 2**BITS, "BLOCK": plan.block}
        count_kernel[plan.grid](source, counts, plan.amount, digit * BITS, **rest)
        starts = (counts.flatten().cumsum(0) - counts.flatten()).int()
        scatter_kernel[plan.grid](source, target, starts, plan.amount, digit * BITS, **rest)
        source, target = target, source


def unique(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    plan = Plan(values.numel(), int(values.max()))
    keys = values.clone()
    sort(keys, plan)
    heads = torch.empty_like(keys)
    heads_kernel[plan.grid](keys, heads, plan.amount, BLOCK=plan.block)
    places = heads.cumsum(0).int()
    distinct, begins = keys.new_empty(int(places[-1])), keys.new_empty(int(places[-1]))
    runs_kernel[plan.grid](keys, heads, places, distinct, begins, plan.amount, BLOCK=plan.block)
    return distinct, torch.diff(begins, append=begins.new_tensor([plan.amount]))


def main() -> None:
    logging.basicConfig(level=logging.INFO)
    source = torch.Generator().manual_seed(0)
    for amount, different, step in ((50, 20, 1), (100, 30, 8), (120, 40, 64)):
        values = torch.randint(different, (amount,), generator=source, dtype=torch.int32) * step
        distinct, times = unique(values)
        expected, expected_times = torch.unique(values, return_counts=True)
        if not (torch.equal(distinct, expected) and torch.equal(times, expected_times.int())):
            raise AssertionError(f"{len(distinct)} distinct keys, but torch finds {len(expected)}")
        log.info("%d values, %d of them distinct", amount, len(distinct))


if __name__ == "__main__":
    main()
