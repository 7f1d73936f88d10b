"""A byte arena of cache pages with an allocator on the host; a kernel writes pages, another one sums them up."""

import argparse
import contextlib
import heapq

import torch
import triton
import triton.language as tl

HEADS = 8
PAGE = 64
DIM = 128


@triton.jit
def page_offset(page, head, heads, page_bytes):
    return (page * heads + head) * page_bytes


@triton.jit
def write_kernel(arena, pages, value, heads, BYTES: tl.constexpr):
    page = tl.load(pages + tl.program_id(0)).to(tl.int64)
    head = tl.program_id(1)
    base = arena + page_offset(page, head, heads, BYTES)
    for start in range(0, BYTES, 1024):
        tl.store(base + start + tl.arange(0, 1024), value)


@triton.jit
def sum_kernel(arena, pages, counts, sums, most, heads, BYTES: tl.constexpr, BLOCK: tl.constexpr):
    sequence = tl.program_id(0)
    head = tl.program_id(1)
    count = tl.load(counts + sequence)
    total = tl.zeros([BLOCK], tl.int32)
    for index in range(0, count):
        page = tl.load(pages + sequence * most + index)
        base = arena + page_offset(page, head, heads, BYTES)
        for start in range(0, BYTES, BLOCK):
            total += tl.load(base + start + tl.arange(0, BLOCK)).to(tl.int32)
    tl.store(sums + sequence * heads + head, tl.sum(total, axis=0))


@triton.jit
def scale_kernel(sums, scaled, amount, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(scaled + at, tl.load(sums + at, mask=at < amount, other=0) * factor, mask=at < amount)


class Arena:
    def __init__(self, pages, dim=DIM):
        self.bytes = PAGE * dim
        self.memory = torch.empty(pages * HEADS * self.bytes, dtype=torch.int8, device="cuda")
        self.free = [-page for page in range(pages)]
        heapq.heapify(self.free)

    def take(self, count):
        if count > len(self.free):
            raise MemoryError(f"{count} pages asked for, {len(self.free)} free")
        return [-heapq.heappop(self.free) for _ in range(count)]

    @contextlib.contextmanager
    def lease(self, count):
        pages = self.take(count)
        try:
            yield pages
        finally:
            for page in pages:
                heapq.heappush(self.free, -page)


def fill(arena, pages, value):
    index = torch.tensor(pages, dtype=torch.int32, device="cuda")
    write_kernel[(len(pages), HEADS)](arena.memory, index, value, HEADS, BYTES=arena.bytes)


def totals(arena, table):
    most = max(map(len, table))
    padded = torch.tensor([row + [0] * (most - len(row)) for row in table], dtype=torch.int32, device="cuda")
    counts = torch.tensor([len(row) for row in table], dtype=torch.int32, device="cuda")
    sums = torch.empty(len(table), HEADS, dtype=torch.int32, device="cuda")
    sum_kernel[(len(table), HEADS)](
        arena.memory, padded, counts, sums, most, HEADS, BYTES=arena.bytes, BLOCK=1024
    )
    scaled = torch.empty(sums.shape, device="cuda")
    scale_kernel[(1,)](sums, scaled, sums.numel(), 1.0 / 127, BLOCK=64)
    return scaled


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--gigabytes", type=float, default=2.5)
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args(argv)
    arena = Arena(int(args.gigabytes * 1e9) // (HEADS * PAGE * DIM))
    for turn in range(args.rounds):
        with arena.lease(5) as pages:
            fill(arena, pages, turn + 1)
            print(turn, totals(arena, [pages[:3], pages[3:]]).sum().item())


if __name__ == "__main__":
    main()
