"""Rotary embedding of queries of several models; a kernel splits the head into two halves that turn together."""

from dataclasses import dataclass

import torch
import triton
import triton.language as tl


@dataclass
class Model:
    name: str
    head_dim: int
    rotary_fraction: float = 1.0
    base: float = 10000.0

    @property
    def rotary_dim(self) -> int:
        return int(self.head_dim * self.rotary_fraction)


@triton.jit
def tables_kernel(cos, sin, step, HALF: tl.constexpr):
    position = tl.program_id(0)
    at = tl.arange(0, HALF)
    angle = position * tl.exp(-at * step)
    tl.store(cos + position * HALF + at, tl.cos(angle))
    tl.store(sin + position * HALF + at, tl.sin(angle))


@triton.jit
def turn(first, second, cos, sin):
    return first * cos - second * sin, second * cos + first * sin


@triton.jit
def rotate_kernel(x, cos, sin, heads, head_dim, HEADS: tl.constexpr, PAIRS: tl.constexpr, HALF: tl.constexpr):
    position = tl.program_id(0)
    h = tl.arange(0, HEADS)
    d = tl.arange(0, PAIRS)
    base = x + position * heads * head_dim + h[:, None] * head_dim
    live = h[:, None] < heads
    first = tl.load(base + d[None, :], mask=live, other=0.0)
    second = tl.load(base + PAIRS + d[None, :], mask=live, other=0.0)
    c = tl.load(cos + position * HALF + tl.arange(0, HALF))
    s = tl.load(sin + position * HALF + tl.arange(0, HALF))
    first, second = turn(first, second, c[None, :], s[None, :])
    tl.store(base + d[None, :], first, mask=live)
    tl.store(base + PAIRS + d[None, :], second, mask=live)


class Rotary:
    def __init__(self, model: Model, longest: int):
        self.model = model
        self.half = model.rotary_dim // 2
        self.cos = torch.empty(longest, self.half, device="cuda")
        self.sin = torch.empty(longest, self.half, device="cuda")
        step = 9.21 / self.half
        tables_kernel[(longest,)](self.cos, self.sin, step, HALF=self.half)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        positions, heads, dim = x.shape
        rotate_kernel[(positions,)](
            x, self.cos, self.sin, heads, dim,
            HEADS=triton.next_power_of_2(heads), PAIRS=dim // 2, HALF=self.half,
        )
        return x


def main() -> None:
    models = [Model("small", 64), Model("wide", 128, base=500000.0), Model("partial", 64, rotary_fraction=0.5)]
    for model in models:
        rotary = Rotary(model, 12)
        out = rotary(torch.randn(12, 6, model.head_dim, device="cuda"))
        torch.cuda.synchronize()
        print(model.name, tuple(out.shape))


if __name__ == "__main__":
    main()
