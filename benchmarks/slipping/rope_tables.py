"""Rotary embedding with partial rotation, in place, beside a reference; run as a script it prints a table of errors."""

from __future__ import annotations

import functools
import itertools
import os

import torch
import triton
import triton.language as tl

THETA = float(os.environ.get("ROPE_THETA", "10000"))


@triton.jit
def pair_offsets(half):
    first = tl.arange(0, half)
    return first, first + half


@triton.jit
def turn(low, high, cos, sin):
    return low * cos - high * sin, high * cos + low * sin


@triton.jit
def table_kernel(cos, sin, positions, log_theta, HALF: tl.constexpr):
    position = tl.program_id(0)
    if position < positions:
        lane = tl.arange(0, HALF)
        angle = position * tl.exp(-log_theta * lane / HALF)
        tl.store(cos + position * HALF + lane, tl.cos(angle))
        tl.store(sin + position * HALF + lane, tl.sin(angle))


@triton.jit
def rope_kernel(x, cos, sin, stride_token, stride_head, rotated, HEADS: tl.constexpr, INTERLEAVED: tl.constexpr):
    token = tl.program_id(0)
    if INTERLEAVED:
        lane = tl.arange(0, 64)
        low, high = 2 * lane, 2 * lane + 1
    else:
        low, high = pair_offsets(rotated // 2)
    at = token * (rotated // 2) + (low // 2 if INTERLEAVED else low)
    c = tl.load(cos + at)
    s = tl.load(sin + at)
    for head in tl.static_range(HEADS):
        base = x + token * stride_token + head * stride_head
        a = tl.load(base + low).to(tl.float32)
        b = tl.load(base + high).to(tl.float32)
        a, b = turn(a, b, c, s)
        tl.store(base + low, a.to(x.dtype.element_ty))
        tl.store(base + high, b.to(x.dtype.element_ty))


@functools.lru_cache(maxsize=8)
def tables(positions: int, half: int, device: str = "cuda") -> tuple[torch.Tensor, torch.Tensor]:
    cos = torch.empty(positions, half, device=device)
    sin = torch.empty_like(cos)
    table_kernel[(positions,)](cos, sin, positions, float(torch.tensor(THETA).log()), HALF=half)
    return cos, sin


def rope_(x: torch.Tensor, rotated: int, interleaved: bool = False) -> torch.Tensor:
    tokens, heads, _ = x.shape
    cos, sin = tables(tokens, rotated // 2)
    rope_kernel[(tokens,)](x, cos, sin, x.stride(0), x.stride(1), rotated, HEADS=heads, INTERLEAVED=interleaved)
    return x


def reference(x: torch.Tensor, rotated: int) -> torch.Tensor:
    half = rotated // 2
    angle = torch.arange(x.shape[0], device=x.device)[:, None] * THETA ** (-torch.arange(half, device=x.device) / half)
    cos, sin = angle.cos()[:, None], angle.sin()[:, None]
    low, high = x[..., :half].float(), x[..., half:rotated].float()
    return torch.cat([low * cos - high * sin, high * cos + low * sin, x[..., rotated:].float()], dim=-1)


class Suite:
    cases = tuple(itertools.product((7, 32), (2, 4), (64, 128)))

    def __init__(self):
        self.errors: dict[tuple[int, int, int], float] = {}

    def run(self) -> "Suite":
        for tokens, heads, dim in self.cases:
            x = torch.randn(tokens, heads, dim, device="cuda")
            expected = reference(x, dim // 2)
            self.errors[tokens, heads, dim] = (rope_(x, dim // 2) - expected).abs().max().item()
        return self

    def __str__(self) -> str:
        return "\n".join(f"{tokens:4} {heads:2} {dim:4} {error:.2e}" for (tokens, heads, dim), error in self.errors.items())


if __name__ == "__main__":
    print(Suite().run())
