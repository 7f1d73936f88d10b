"""Batched sampling from a history buffer: recent rows gathered, discounted and reduced, as a replay buffer does it."""

from __future__ import annotations

import argparse
import functools
from dataclasses import dataclass

import torch
import triton
import triton.language as tl

BACKENDS: dict[str, "Backend"] = {}


@dataclass(frozen=True)
class Layout:
    """How a buffer lies in memory. Strides are in bytes, as the data loader's C part wants them."""

    rows: int
    width: int
    row_bytes: int
    item_bytes: int

    @classmethod
    def of(cls, x: torch.Tensor) -> "Layout":
        size = x.element_size()
        return cls(x.shape[0], x.shape[1], x.stride(0) * size, x.stride(1) * size)


@triton.jit
def gather_kernel(x_ptr, index_ptr, out_ptr, width, stride, weight, BLOCK: tl.constexpr):
    item = tl.program_id(0)
    row = tl.load(index_ptr + item)
    for start in range(0, width, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row.to(tl.int64) * stride + cols, mask=cols < width, other=0.0)
        tl.store(out_ptr + item * width + cols, x * weight, mask=cols < width)


@triton.jit
def discount_kernel(x_ptr, out_ptr, items, width, gamma, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for item in range(items):
        total = total * gamma + tl.load(x_ptr + item * width + cols, mask=cols < width, other=0.0)
    tl.store(out_ptr + cols, total, mask=cols < width)


@triton.jit
def priority_kernel(x_ptr, out_ptr, width, BLOCK: tl.constexpr):
    item = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + item * width + cols, mask=cols < width, other=0.0)
    tl.store(out_ptr + item, tl.sqrt(tl.sum(x * x, axis=0)))


class Backend:
    def __init_subclass__(cls, name: str, **kwargs):
        super().__init_subclass__(**kwargs)
        BACKENDS[name] = cls()

    def gather(self, x, index, weight):
        raise NotImplementedError


class TorchBackend(Backend, name="torch"):
    def gather(self, x, index, weight):
        return x[index.long()] * weight


class TritonBackend(Backend, name="triton"):
    def stride(self, x):
        return x.stride(0)

    def gather(self, x, index, weight):
        out = torch.zeros(index.numel(), x.shape[1], device=x.device)
        gather_kernel[(index.numel(),)](x, index, out, x.shape[1], self.stride(x), weight, BLOCK=128)
        return out


class LoaderBackend(TritonBackend, name="loader"):
    """Takes the layout as the data loader gives it."""

    @functools.lru_cache(maxsize=8)
    def layout(self, shape, stride):
        return Layout(*shape, stride[0] * 4, stride[1] * 4)

    def stride(self, x):
        return self.layout(tuple(x.shape), x.stride()).row_bytes


class Replay:
    def __init__(self, rows: int, width: int):
        self.data = torch.randn(rows, width, device="cuda")
        self.rows, self.width = rows, width

    def recent(self, count: int, skip: int = 0) -> torch.Tensor:
        last = self.rows - 1 - skip
        return torch.arange(last, last - count, -1, dtype=torch.int32, device="cuda")

    def sample(self, backend: str, count: int, weight: float) -> torch.Tensor:
        return BACKENDS[backend].gather(self.data, self.recent(count), weight)


def summarize(batch: torch.Tensor, gamma: float):
    items, width = batch.shape
    value = torch.zeros(width, device="cuda")
    discount_kernel[(triton.cdiv(width, 128),)](batch, value, items, width, gamma, BLOCK=128)
    priority = torch.zeros(items, device="cuda")
    priority_kernel[(items,)](batch, priority, width, BLOCK=triton.next_power_of_2(width))
    return value, priority


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=65536)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--gamma", type=float, default=0.99)
    args = parser.parse_args()
    torch.manual_seed(9)
    replay = Replay(args.rows, args.width)
    for name in BACKENDS:
        batch = replay.sample(name, args.count, weight=0.5)
        value, priority = summarize(batch, args.gamma)
        torch.cuda.synchronize()
        print(f"{name}: value {float(value.mean()):.3f}, priorities {[round(p, 2) for p in priority.tolist()]}")


if __name__ == "__main__":
    main()
