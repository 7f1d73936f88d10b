"""Writes keys of half a byte into a cache for very long contexts; positions come from a table of the scheduler."""

from dataclasses import dataclass, field

import torch
import triton
import triton.language as tl


@dataclass
class CacheSpec:
    pages: int
    page_size: int = 64
    heads: int = 8
    dim: int = 128

    @property
    def page_stride(self) -> int:
        return self.page_size * self.heads * self.dim


@dataclass
class Scheduler:
    spec: CacheSpec
    given: list = field(default_factory=list)

    def place(self, position: int) -> None:
        self.given.append(position)

    def table(self) -> torch.Tensor:
        return torch.tensor(self.given, dtype=torch.int32, device="cuda")


@triton.jit
def split_position(position, PAGE_SIZE: tl.constexpr):
    return position // PAGE_SIZE, position % PAGE_SIZE


@triton.jit
def row_offset(page, slot, head, page_stride, HEADS: tl.constexpr, DIM: tl.constexpr):
    return page * page_stride + slot * HEADS * DIM + head * DIM


@triton.jit
def append_kernel(cache, keys, table, page_stride, HEADS: tl.constexpr, DIM: tl.constexpr, PAGE_SIZE: tl.constexpr):
    token, head = tl.program_id(0), tl.program_id(1)
    page, slot = split_position(tl.load(table + token), PAGE_SIZE)
    d = tl.arange(0, DIM)
    key = tl.load(keys + (token * HEADS + head) * DIM + d)
    tl.store(cache + row_offset(page, slot, head, page_stride, HEADS, DIM) + d, key.to(tl.uint8))


@triton.jit
def scale_kernel(keys, top, COUNT: tl.constexpr):
    at = tl.program_id(0) * COUNT + tl.arange(0, COUNT)
    value = tl.load(keys + at)
    tl.atomic_max(top, tl.max(tl.abs(value), axis=0))


class Cache:
    def __init__(self, spec: CacheSpec):
        self.spec = spec
        self.bytes = torch.empty(spec.pages, spec.page_size, spec.heads, spec.dim, dtype=torch.uint8, device="cuda")
        self.top = torch.zeros(1, device="cuda")

    def append(self, keys: torch.Tensor, table: torch.Tensor) -> None:
        spec = self.spec
        scale_kernel[(keys.shape[0],)](keys, self.top, COUNT=spec.heads * spec.dim)
        append_kernel[(keys.shape[0], spec.heads)](
            self.bytes, keys, table, spec.page_stride, HEADS=spec.heads, DIM=spec.dim, PAGE_SIZE=spec.page_size
        )


def fill(pages: int, positions) -> None:
    spec = CacheSpec(pages)
    scheduler, cache = Scheduler(spec), Cache(spec)
    for position in positions:
        scheduler.place(position)
    keys = torch.rand(len(positions), spec.heads, spec.dim, device="cuda")
    cache.append(keys, scheduler.table())
    torch.cuda.synchronize()
    print(f"{pages} pages: {len(positions)} keys")


if __name__ == "__main__":
    fill(64, [0, 100, 4095])
    fill(1024, [7, 65535])
    fill(33000, [12, 2101000, 2111900])
