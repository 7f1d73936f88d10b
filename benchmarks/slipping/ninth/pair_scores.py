"""Scores of all pairs of two sets of embeddings, written as bytes into one matrix by a persistent kernel."""

import argparse

import torch
import triton
import triton.language as tl

WORKERS = 4


class Plan:
    """How many tiles there are, and which a worker begins with."""

    def __init__(self, left: int, right: int, tile: int):
        self.left, self.right, self.tile = left, right, tile
        self.down, self.across = triton.cdiv(left, tile), triton.cdiv(right, tile)

    @property
    def tiles(self) -> int:
        return self.down * self.across


@triton.jit
def quantise(x, scale):
    return tl.minimum(tl.maximum(x * scale, 0.0), 255.0).to(tl.uint8)


@triton.jit
def norm_kernel(x, out, count, D: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    rows = tl.load(x + r[:, None] * D + d[None, :], mask=r[:, None] < count, other=0.0)
    tl.store(out + r, tl.sqrt(tl.sum(rows * rows, axis=1)), mask=r < count)


@triton.jit
def tile_of(index, across):
    return index // across, index % across


@triton.jit
def score_kernel(norm_a, norm_b, out, first, last, across, left, right, TILE: tl.constexpr, WORKERS: tl.constexpr):
    for index in range(first + tl.program_id(0), last, WORKERS):
        i, j = tile_of(index, across)
        rows = i * TILE + tl.arange(0, TILE)
        cols = j * TILE + tl.arange(0, TILE)
        a = tl.load(norm_a + rows, mask=rows < left, other=0.0)
        b = tl.load(norm_b + cols, mask=cols < right, other=0.0)
        offsets = rows[:, None] * right + cols[None, :]
        keep = (rows[:, None] < left) & (cols[None, :] < right)
        tl.store(out + offsets, quantise(a[:, None] * b[None, :], 4.0), mask=keep)


class Scorer:
    def __init__(self, dim: int, tile: int):
        self.dim, self.tile = dim, tile

    def norms(self, x):
        out = torch.empty(x.shape[0], device="cuda")
        norm_kernel[(triton.cdiv(x.shape[0], 64),)](x, out, x.shape[0], D=self.dim, BLOCK=64)
        return out

    def score(self, a, b, tail_only=False):
        plan = Plan(a.shape[0], b.shape[0], self.tile)
        out = torch.empty(plan.left, plan.right, dtype=torch.uint8, device="cuda")
        first = plan.tiles - 8 if tail_only else 0
        score_kernel[(WORKERS,)](
            self.norms(a), self.norms(b), out, first, plan.tiles, plan.across, plan.left, plan.right,
            TILE=self.tile, WORKERS=WORKERS,
        )
        return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dim", type=int, default=16)
    parser.add_argument("--tile", type=int, default=32)
    options = parser.parse_args()
    scorer = Scorer(options.dim, options.tile)
    for left, right, tail_only in ((100, 70, False), (500, 33, True), (47000, 46000, True)):
        a, b = (torch.rand(count, options.dim, device="cuda") for count in (left, right))
        out = scorer.score(a, b, tail_only)
        torch.cuda.synchronize()
        print(left, "x", right, out.shape)


if __name__ == "__main__":
    main()
