"""Bookkeeping of a paged key-value cache: which page of which sequence begins where, and how full each page is.

Each sequence owns a row of the page table. The scan gives every page the number of tokens before it; the scheduler
needs these to place the next tokens, and the eviction policy to find the emptiest pages.
"""

import argparse
import collections
import enum
import math

import torch
import triton
import triton.language as tl


class Policy(enum.Enum):
    LRU = "lru"
    EMPTIEST = "emptiest"
    NONE = "none"


Request = collections.namedtuple("Request", "name tokens priority")

REQUESTS = [
    Request("chat", 37, 1),
    Request("summary", 120, 0),
    Request("code", 64, 2),
]


@triton.jit
def fill_kernel(lengths_ptr, used_ptr, pages, PAGE: tl.constexpr, BLOCK: tl.constexpr):
    """Tokens in each page of a sequence: full ones first, the rest in the last."""
    sequence = tl.program_id(0)
    length = tl.load(lengths_ptr + sequence)
    page = tl.arange(0, BLOCK)
    used = tl.minimum(tl.maximum(length - page * PAGE, 0), PAGE)
    tl.store(used_ptr + sequence * pages + page, used, mask=page < pages)


@triton.jit
def occupancy_kernel(used_ptr, free_ptr, pages, total, PAGE: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    used = tl.load(used_ptr + offsets, mask=offsets < total, other=PAGE)
    tl.store(free_ptr + offsets, PAGE - used, mask=offsets < total)


@triton.jit
def page_scan_kernel(used_ptr, begin_ptr, last_ptr, sequences, slots, carry, FLATTEN: tl.constexpr):
    """Running sums over all pages; `last_ptr` gets what the sequence before ended with."""
    total = carry
    previous = carry * 0
    for sequence in tl.range(0, sequences, flatten=FLATTEN):
        for slot in range(slots):
            total += tl.load(used_ptr + sequence * slots + slot)
        tl.store(last_ptr + sequence, previous)
        total += previous
        previous = total
        tl.store(begin_ptr + sequence, total)


@triton.jit
def copy_kernel(source_ptr, table_ptr, target_ptr, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    page = tl.load(table_ptr + row)
    values = tl.load(source_ptr + page * width + cols, mask=cols < width, other=0.0)
    tl.store(target_ptr + row * width + cols, values, mask=cols < width)


class PagedCache:
    def __init__(self, requests, page: int = 16, width: int = 48, policy: Policy = Policy.NONE):
        self.page, self.width, self.policy = page, width, policy
        self.names = [request.name for request in requests]
        self.lengths = torch.tensor([r.tokens for r in requests], dtype=torch.int32, device="cuda")
        self.slots = max(math.ceil(r.tokens / page) for r in requests)
        self.used = torch.zeros(len(requests), self.slots, dtype=torch.int32, device="cuda")
        self.pool = torch.randn(len(requests) * self.slots, width, device="cuda")

    def fill(self) -> None:
        block = triton.next_power_of_2(self.slots)
        fill_kernel[(len(self.names),)](self.lengths, self.used, self.slots, PAGE=self.page, BLOCK=block)

    def free(self) -> torch.Tensor:
        free = torch.zeros_like(self.used)
        grid = (triton.cdiv(free.numel(), 128),)
        occupancy_kernel[grid](self.used, free, self.slots, free.numel(), PAGE=self.page, BLOCK=128)
        return free

    def begins(self, flatten: bool) -> torch.Tensor:
        begin = torch.zeros(len(self.names) + 1, dtype=torch.int32, device="cuda")
        last = torch.zeros_like(begin)
        page_scan_kernel[(1,)](self.used, begin, last, len(self.names), self.slots, 0, FLATTEN=flatten)
        return begin

    def victims(self) -> torch.Tensor:
        if self.policy is Policy.EMPTIEST:
            return self.free().reshape(-1).argsort(descending=True)
        return torch.arange(self.used.numel(), device="cuda")

    def compact(self) -> torch.Tensor:
        table = self.victims().to(torch.int32)
        target = torch.zeros_like(self.pool)
        copy_kernel[(table.numel(),)](self.pool, table, target, self.width, BLOCK=triton.next_power_of_2(self.width))
        return target


def reference(used: torch.Tensor) -> list[int]:
    result, total, previous = [], 0, 0
    for row in used.tolist():
        total += sum(row) + previous
        previous = total
        result.append(total)
    return result


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", type=int, default=16)
    parser.add_argument("--policy", type=Policy, default=Policy.EMPTIEST)
    parser.add_argument("--modes", nargs="*", default=["plain", "flat"])
    args = parser.parse_args()
    cache = PagedCache(REQUESTS, args.page, policy=args.policy)
    cache.fill()
    cache.compact()
    for mode in args.modes:
        begins = cache.begins(flatten=mode == "flat")
        torch.cuda.synchronize()
        print(mode, begins.tolist(), "expected", reference(cache.used))


if __name__ == "__main__":
    main()
