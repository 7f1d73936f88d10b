"""A serving cache of int8 embeddings: slots are filled, looked up, aged and evicted. One big table for all tenants.

Rows are 1,024 bytes, and the table has a little over two million: its last rows lie beyond 2**31 bytes.
"""

import argparse
import random
from collections import OrderedDict
from dataclasses import dataclass, field

import torch
import triton
import triton.language as tl


@dataclass
class Settings:
    width: int = 1024
    slots: int = 2**21 + 4096
    tenants: int = 4
    seed: int = 0
    block: int = 256


@triton.jit
def quantize_kernel(x_ptr, q_ptr, scale_ptr, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * width + cols, mask=cols < width, other=0.0)
    scale = tl.max(tl.abs(x), axis=0) / 127.0 + 1e-6
    tl.store(scale_ptr + row, scale)
    tl.store(q_ptr + row * width + cols, (x / scale).to(tl.int8), mask=cols < width)


@triton.jit
def insert_kernel(table_ptr, rows_ptr, slots_ptr, width, BLOCK: tl.constexpr):
    item = tl.program_id(0)
    slot = tl.load(slots_ptr + item).to(tl.int64)
    for start in range(0, width, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        inside = cols < width
        row = tl.load(rows_ptr + item * width + cols, mask=inside, other=0)
        tl.store(table_ptr + slot * width + cols, row, mask=inside)


@triton.jit
def lookup_kernel(table_ptr, slots_ptr, scales_ptr, out_ptr, width, BLOCK: tl.constexpr):
    item = tl.program_id(0)
    slot = tl.load(slots_ptr + item)
    scale = tl.load(scales_ptr + item)
    for start in range(0, width, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        inside = cols < width
        row = tl.load(table_ptr + slot * width + cols, mask=inside, other=0)
        tl.store(out_ptr + item * width + cols, row.to(tl.float32) * scale, mask=inside)


@triton.jit
def age_kernel(age_ptr, slots_ptr, total, now, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    slot = tl.load(slots_ptr + offsets, mask=offsets < total, other=0)
    tl.store(age_ptr + slot, now + offsets * 0, mask=offsets < total)


class EmbeddingCache:
    def __init__(self, settings: Settings):
        self.settings = settings
        self.table = torch.zeros(settings.slots, settings.width, dtype=torch.int8, device="cuda")
        self.age = torch.zeros(settings.slots, dtype=torch.int32, device="cuda")
        self.owner: OrderedDict[str, int] = OrderedDict()
        self.clock = 0

    def place(self, keys: list[str]) -> torch.Tensor:
        """The slot of each key: tenants have ranges of their own, from both ends of the table."""
        slots = []
        for key in keys:
            tenant, _, number = key.partition("/")
            if int(tenant) % 2:
                slot = self.settings.slots - 1 - int(number) * self.settings.tenants - int(tenant)
            else:
                slot = int(number) * self.settings.tenants + int(tenant)
            self.owner[key] = slot
            slots.append(slot)
        return torch.tensor(slots, dtype=torch.int32, device="cuda")

    def insert(self, keys: list[str], x: torch.Tensor) -> torch.Tensor:
        slots = self.place(keys)
        q = torch.zeros(x.shape, dtype=torch.int8, device="cuda")
        scales = torch.zeros(len(keys), device="cuda")
        quantize_kernel[(len(keys),)](x, q, scales, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        insert_kernel[(len(keys),)](self.table, q, slots, x.shape[1], BLOCK=self.settings.block)
        self.touch(slots)
        return scales

    def touch(self, slots: torch.Tensor) -> None:
        self.clock += 1
        age_kernel[(triton.cdiv(slots.numel(), 128),)](self.age, slots, slots.numel(), self.clock, BLOCK=128)

    def lookup(self, keys: list[str], scales: torch.Tensor) -> torch.Tensor:
        slots = torch.tensor([self.owner[key] for key in keys], dtype=torch.int32, device="cuda")
        out = torch.zeros(len(keys), self.settings.width, device="cuda")
        lookup_kernel[(len(keys),)](self.table, slots, scales, out, self.settings.width, BLOCK=self.settings.block)
        self.touch(slots)
        return out

    def evict(self, count: int) -> list[str]:
        return [self.owner.popitem(last=False)[0] for _ in range(min(count, len(self.owner)))]


def traffic(settings: Settings, rounds: int):
    draw = random.Random(settings.seed)
    for index in range(rounds):
        tenant = index % settings.tenants
        yield [f"{tenant}/{draw.randrange(0, 200)}" for _ in range(4 + tenant)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--evict", type=int, default=2)
    args = parser.parse_args()
    settings = Settings()
    torch.manual_seed(settings.seed)
    cache = EmbeddingCache(settings)
    for keys in traffic(settings, args.rounds):
        x = torch.randn(len(keys), settings.width, device="cuda")
        scales = cache.insert(keys, x)
        back = cache.lookup(keys, scales)
        torch.cuda.synchronize()
        print(keys[0], "error", round(float((back - x).abs().max()), 3), "evicted", cache.evict(args.evict))


if __name__ == "__main__":
    main()
