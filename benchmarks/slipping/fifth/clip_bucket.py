"""Clipping of gradients by their norm, in one bucket for all parameters; compared with torch's own clipping."""

import os

os.environ["TRITON_INTERPRET"] = "1"

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import nn


class Layout(NamedTuple):
    """How a bucket is worked through: chunks of one size, one sum of squares for each."""

    elements: int
    chunk: int
    chunks: int

    @classmethod
    def of(cls, parameters, chunk=256):
        elements = sum(parameter.numel() for parameter in parameters)
        return cls(elements, chunk, elements // chunk)

    @property
    def grid(self):
        return (triton.cdiv(self.elements, self.chunk),)


@triton.jit
def squares_kernel(bucket, sums, elements, BLOCK: tl.constexpr):
    chunk = tl.program_id(0)
    at = chunk * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(bucket + at, mask=at < elements, other=0.0)
    tl.store(sums + chunk, tl.sum(value * value, axis=0))


@triton.jit
def norm_kernel(sums, norm, chunks, WIDE: tl.constexpr):
    total = tl.zeros([WIDE], tl.float32)
    for first in range(0, chunks, WIDE):
        at = first + tl.arange(0, WIDE)
        total += tl.load(sums + at, mask=at < chunks, other=0.0)
    tl.store(norm, tl.sqrt(tl.sum(total, axis=0)))


@triton.jit
def scale_kernel(bucket, norm, limit, elements, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    factor = tl.minimum(limit / (tl.load(norm) + 1e-6), 1.0)
    tl.store(bucket + at, factor * tl.load(bucket + at, mask=at < elements, other=0.0), mask=at < elements)


class Bucket:
    """Memory for the gradients of some parameters, behind each other."""

    def __init__(self, parameters, limit):
        self.parameters, self.limit = list(parameters), limit
        self.layout = Layout.of(self.parameters)
        self.memory = torch.zeros(self.layout.elements)
        self.sums = torch.zeros(self.layout.grid)
        first = 0
        for parameter in self.parameters:
            last = first + parameter.numel()
            parameter.grad = self.memory[first:last].view_as(parameter)
            first = last

    def zero(self):
        self.memory.zero_()

    def clip(self):
        elements, chunk, chunks = self.layout
        norm = torch.empty(1)
        squares_kernel[self.layout.grid](self.memory, self.sums, elements, BLOCK=chunk)
        norm_kernel[(1,)](self.sums, norm, chunks, WIDE=16)
        scale_kernel[self.layout.grid](self.memory, norm, self.limit, elements, BLOCK=chunk)
        return norm


def network(width, seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(width, width, bias=False), nn.GELU(), nn.Linear(width, width, bias=False))


def check(width, limit, steps=2):
    ours, theirs = network(width), network(width)
    bucket = Bucket(ours.parameters(), limit)
    for step in range(steps):
        x = torch.randn(8, width, generator=torch.Generator().manual_seed(step))
        bucket.zero()
        ours(x).square().sum().backward()
        theirs.zero_grad()
        theirs(x).square().sum().backward()
        bucket.clip()
        nn.utils.clip_grad_norm_(theirs.parameters(), limit)
        for mine, other in zip(ours.parameters(), theirs.parameters()):
            torch.testing.assert_close(mine.grad, other.grad, msg=f"step {step}: the clipped gradients differ")


def main():
    for width in (16, 32, 44):
        for limit in (1e6, 0.5):
            check(width, limit)
            print(f"width {width}, limit {limit:g}: as torch clips them")


if __name__ == "__main__":
    main()
