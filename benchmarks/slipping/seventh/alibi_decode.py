"""Decoding with linear biases for distances: slopes by heads, scores in tiles, a softmax, weighted values."""

from __future__ import annotations

import argparse
import functools
import math

import torch
import triton
import triton.language as tl


def ladder(heads: int) -> list[float]:
    """Powers of two by which the heads forget: evenly spaced up to 8, others in between for heads left over."""
    whole = 2 ** int(math.log2(heads))
    step = 8 // whole if whole <= 8 else 8 / whole
    steps = [step * (head + 1) for head in range(whole)]
    return steps + [step * (head + 0.5) for head in range(heads - whole)]


@functools.lru_cache(maxsize=None)
def slopes_of(heads: int, device: str) -> torch.Tensor:
    return torch.tensor(ladder(heads), device=device)


@triton.jit
def distance_bias(slopes, head, position, token):
    """What a head subtracts for a token so far away."""
    slope = tl.exp2(-tl.load(slopes + head))
    return slope * (position - token).to(tl.float32)


@triton.jit
def append_kernel(new, cache, position, longest, WIDTH: tl.constexpr):
    """Keys or values of one token into their place, head by head."""
    head = tl.program_id(0)
    at = tl.arange(0, WIDTH)
    value = tl.load(new + head * WIDTH + at)
    tl.store(cache + (head * longest + position) * WIDTH + at, value.to(cache.dtype.element_ty))


@triton.jit
def scores_kernel(
    query, keys, slopes, scores, position, longest, scale,
    WIDTH: tl.constexpr, TOKENS: tl.constexpr,
):
    head = tl.program_id(0)
    token = tl.program_id(1) * TOKENS + tl.arange(0, TOKENS)
    at = tl.arange(0, WIDTH)
    seen = token <= position
    key = tl.load(keys + (head * longest + token[:, None]) * WIDTH + at[None, :], mask=seen[:, None], other=0.0)
    score = tl.sum(key.to(tl.float32) * tl.load(query + head * WIDTH + at).to(tl.float32)[None, :], axis=1) * scale
    score -= distance_bias(slopes, head, position, token)
    tl.store(scores + head * longest + token, tl.where(seen, score, float("-inf")), mask=token < longest)


@triton.jit
def softmax_kernel(scores, longest, BLOCK: tl.constexpr):
    token = tl.arange(0, BLOCK)
    keep = token < longest
    row = scores + tl.program_id(0) * longest
    score = tl.load(row + token, mask=keep, other=float("-inf"))
    share = tl.exp(score - tl.max(score, axis=0))
    tl.store(row + token, share / tl.sum(share, axis=0), mask=keep)


@triton.jit
def values_kernel(scores, values, out, position, longest, WIDTH: tl.constexpr, TOKENS: tl.constexpr):
    head = tl.program_id(0)
    at = tl.arange(0, WIDTH)
    total = tl.zeros([WIDTH], tl.float32)
    for start in range(0, position + 1, TOKENS):
        token = start + tl.arange(0, TOKENS)
        seen = token <= position
        share = tl.load(scores + head * longest + token, mask=seen, other=0.0)
        row = (head * longest + token[:, None]) * WIDTH + at[None, :]
        total += tl.sum(tl.load(values + row, mask=seen[:, None], other=0.0).to(tl.float32) * share[:, None], axis=0)
    tl.store(out + head * WIDTH + at, total.to(out.dtype.element_ty))


class Attention:
    """One layer's cache, and its attention for the newest token."""

    def __init__(self, heads: int, width: int, longest: int, device: str = "cuda") -> None:
        self.heads, self.width, self.longest, self.position = heads, width, longest, 0
        kind = {"dtype": torch.float16, "device": device}
        self.keys = torch.zeros(heads, longest, width, **kind)
        self.values = torch.zeros(heads, longest, width, **kind)
        self.scores = torch.empty(heads, longest, device=device)
        self.slopes = slopes_of(heads, device)

    def __call__(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        if self.position == self.longest:
            raise ValueError("the cache is full")
        heads, where, out = (self.heads,), (self.position, self.longest), torch.empty_like(query)
        append_kernel[heads](key, self.keys, *where, WIDTH=self.width)
        append_kernel[heads](value, self.values, *where, WIDTH=self.width)
        scores_kernel[(self.heads, triton.cdiv(self.longest, 16))](
            query, self.keys, self.slopes, self.scores, *where, self.width**-0.5, WIDTH=self.width, TOKENS=16,
        )
        softmax_kernel[heads](self.scores, self.longest, BLOCK=triton.next_power_of_2(self.longest))
        values_kernel[heads](self.scores, self.values, out, *where, WIDTH=self.width, TOKENS=16)
        self.position += 1
        return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--heads", type=int, nargs="+", default=[16, 12, 8])
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--steps", type=int, default=3)
    args = parser.parse_args()
    for heads in args.heads:
        attention = Attention(heads, args.width, longest=40)
        for _ in range(args.steps):
            query, key, value = torch.randn(3, heads, args.width, dtype=torch.float16, device="cuda")
            out = attention(query, key, value)
        torch.cuda.synchronize()
        print(f"{heads} heads: {attention.position} tokens, {tuple(out.shape)}")


if __name__ == "__main__":
    main()
