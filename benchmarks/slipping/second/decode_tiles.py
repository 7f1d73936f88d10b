"""Decoding over a paged cache: each sequence's pages are walked in tiles, whose size a table of tunings gives."""

import functools
import json
from typing import NamedTuple

import torch
import triton
import triton.language as tl

# Tuned offline: (width of a head, bits of an element) -> pages a tile, stages, warps.
TUNED = json.loads("""{
    "64,16": [8, 4, 4], "64,8": [16, 4, 4],
    "128,16": [4, 3, 4], "128,8": [8, 3, 4],
    "256,16": [2, 2, 8], "256,8": [4, 2, 8]
}""")
FALLBACK = [16, 4, 4]


class Tile(NamedTuple):
    pages: int
    stages: int
    warps: int


@functools.lru_cache(maxsize=None)
def tile_for(width: int, dtype: torch.dtype) -> Tile:
    """The tuned tile; narrow heads, which are in no table, take the fallback."""
    return Tile(*TUNED.get(f"{width},{dtype.itemsize}", FALLBACK))


@triton.jit
def soften(scores, best, total):
    fresh = tl.maximum(best, tl.max(scores, axis=1))
    shrunk = tl.exp(best - fresh)
    weights = tl.exp(scores - fresh[:, None])
    return weights, fresh, shrunk, total * shrunk + tl.sum(weights, axis=1)


@triton.jit
def write_page_kernel(source, cache, slots, WIDTH: tl.constexpr):
    token = tl.program_id(0)
    column = tl.arange(0, WIDTH)
    slot = tl.load(slots + token)
    tl.store(cache + slot * WIDTH + column, tl.load(source + token * WIDTH + column))


@triton.jit
def decode_kernel(
    q, k_cache, v_cache, table, lengths, out, scale, max_pages,
    HEADS: tl.constexpr, WIDTH: tl.constexpr, PAGE: tl.constexpr, PAGES: tl.constexpr,
):
    sequence = tl.program_id(0)
    head = tl.arange(0, HEADS)
    column = tl.arange(0, WIDTH)
    inside = tl.arange(0, PAGES * PAGE)
    length = tl.load(lengths + sequence)
    queries = tl.load(q + (sequence * HEADS + head)[:, None] * WIDTH + column[None, :])
    best = tl.full([HEADS], float("-inf"), tl.float32)
    total = tl.zeros([HEADS], tl.float32)
    acc = tl.zeros([HEADS, WIDTH], tl.float32)
    for start in range(0, length, PAGES * PAGE):
        position = start + inside
        valid = position < length
        page = tl.load(table + sequence * max_pages + position // PAGE, mask=valid, other=0)
        row = page * PAGE + position % PAGE
        keys = tl.load(k_cache + row[None, :] * WIDTH + column[:, None], mask=valid[None, :], other=0.0)
        scores = tl.dot(queries, keys) * scale
        scores = tl.where(valid[None, :], scores, float("-inf"))
        weights, best, shrunk, total = soften(scores, best, total)
        values = tl.load(v_cache + row[:, None] * WIDTH + column[None, :], mask=valid[:, None], other=0.0)
        acc = acc * shrunk[:, None] + tl.dot(weights.to(values.dtype), values)
    at = out + (sequence * HEADS + head)[:, None] * WIDTH + column[None, :]
    tl.store(at, acc / total[:, None])


class PagedCache:
    def __init__(self, pages: int, page: int, width: int, dtype: torch.dtype):
        self.page, self.free = page, list(range(pages))
        self.k = torch.zeros(pages, page, width, device="cuda", dtype=dtype)
        self.v = torch.zeros_like(self.k)
        self.pages_of, self.lengths = [], []

    def admit(self, keys: torch.Tensor, values: torch.Tensor):
        count = keys.shape[0]
        mine = [self.free.pop() for _ in range(triton.cdiv(count, self.page))]
        slots = torch.tensor([mine[i // self.page] * self.page + i % self.page for i in range(count)], device="cuda")
        for source, cache in ((keys, self.k), (values, self.v)):
            write_page_kernel[(count,)](source, cache, slots, WIDTH=keys.shape[1])
        self.pages_of.append(mine)
        self.lengths.append(count)

    def table(self):
        widest = max(map(len, self.pages_of))
        rows = [pages + [0] * (widest - len(pages)) for pages in self.pages_of]
        return torch.tensor(rows, dtype=torch.int32, device="cuda")


def decode(q: torch.Tensor, cache: PagedCache) -> torch.Tensor:
    sequences, heads, width = q.shape
    tile = tile_for(width, q.dtype)
    table = cache.table()
    lengths = torch.tensor(cache.lengths, dtype=torch.int32, device="cuda")
    out = torch.empty_like(q)
    decode_kernel[(sequences,)](
        q, cache.k, cache.v, table, lengths, out, width**-0.5, table.shape[1],
        HEADS=heads, WIDTH=width, PAGE=cache.page, PAGES=tile.pages, num_stages=tile.stages, num_warps=tile.warps,
    )
    return out


def main():
    torch.manual_seed(0)
    for width in (32, 256):
        cache = PagedCache(pages=40, page=16, width=width, dtype=torch.float16)
        for count in (50, 17, 130):
            cache.admit(*(torch.randn(count, width, device="cuda", dtype=torch.float16) for _ in "kv"))
        q = torch.randn(3, 16, width, device="cuda", dtype=torch.float16)
        print(width, tuple(decode(q, cache).shape))
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
