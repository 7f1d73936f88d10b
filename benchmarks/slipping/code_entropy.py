"""Codes of a quantiser and their histogram: the second kernel checks what the first one wrote, in debug builds."""

import argparse
import logging
import math
import os
from types import SimpleNamespace

os.environ.setdefault("TRITON_DEBUG", "1")

import torch
import triton
import triton.language as tl

log = logging.getLogger("codes")


@triton.jit
def span_kernel(x, low, high, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + column, mask=column < columns, other=0.0)
    tl.store(low + row, tl.min(tl.where(column < columns, value, float("inf")), axis=0))
    tl.store(high + row, tl.max(tl.where(column < columns, value, float("-inf")), axis=0))


@triton.jit
def to_level(value, low, high, levels):
    step = (high - low) / (levels - 1)
    return tl.floor((value - low) / step + 0.5).to(tl.int32)


@triton.jit
def encode_kernel(x, codes, low, high, levels, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    keep = column < columns
    value = tl.load(x + row * columns + column, mask=keep, other=0.0)
    code = to_level(value, tl.load(low + row), tl.load(high + row), levels)
    tl.store(codes + row * columns + column, tl.minimum(code, levels).to(tl.uint8), mask=keep)


@triton.jit
def histogram_kernel(codes, counts, amount, levels, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < amount
    code = tl.load(codes + at, mask=keep, other=0).to(tl.int32)
    tl.device_assert(code < levels, "a code is beyond the last level", mask=keep)
    tl.atomic_add(counts + code, 1, mask=keep)


@triton.jit
def entropy_kernel(counts, out, amount, LEVELS: tl.constexpr):
    share = tl.load(counts + tl.arange(0, LEVELS)).to(tl.float32) / amount
    tl.store(out, -tl.sum(tl.where(share > 0, share * tl.log2(share), 0.0), axis=0))


class Encoder:
    def __init__(self, bits):
        self.levels = 1 << bits
        self.low = self.high = None

    def fit(self, sample):
        rows, columns = sample.shape
        self.low = torch.empty(rows, device=sample.device)
        self.high = torch.empty_like(self.low)
        span_kernel[(rows,)](sample, self.low, self.high, columns, BLOCK=triton.next_power_of_2(columns))
        return self

    def __call__(self, x):
        codes = torch.empty(x.shape, dtype=torch.uint8, device=x.device)
        rows, columns = x.shape
        encode_kernel[(rows,)](
            x, codes, self.low, self.high, self.levels, columns, BLOCK=triton.next_power_of_2(columns)
        )
        return codes


def entropy(codes, levels):
    counts = torch.zeros(levels, dtype=torch.int32, device=codes.device)
    grid = (triton.cdiv(codes.numel(), 128),)
    histogram_kernel[grid](codes, counts, codes.numel(), levels, BLOCK=128)
    out = torch.empty(1, device=codes.device)
    entropy_kernel[(1,)](counts, out, codes.numel(), LEVELS=levels)
    return out.item()


def stream(options):
    """Batches that drift: later ones exceed the span of the first, which the encoder was fitted to."""
    generator = torch.Generator().manual_seed(options.seed)
    for step in range(options.steps):
        yield torch.rand(8, 100, generator=generator).cuda() * (1.0 + options.drift * step)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bits", type=int, default=4)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--drift", type=float, default=0.2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(namespace=SimpleNamespace())
    logging.basicConfig(level=logging.INFO)
    encoder = None
    for step, batch in enumerate(stream(options)):
        encoder = encoder or Encoder(options.bits).fit(batch)
        bits = entropy(encoder(batch), encoder.levels)
        log.info("step %d: %.2f of %d bits", step, bits, int(math.log2(encoder.levels)))


if __name__ == "__main__":
    main()
