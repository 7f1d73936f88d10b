"""Keeps the columns of an activation whose norm is large, and gathers them into a narrow matrix."""

from typing import NamedTuple

import torch
import triton
import triton.language as tl


class Prune(NamedTuple):
    rows: int
    cols: int
    keep: float
    block: int = 32


@triton.jit
def norm_kernel(x, out, rows, cols, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr):
    c = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    total = tl.zeros([BLOCK_C], tl.float32)
    for start in range(0, rows, BLOCK_R):
        r = start + tl.arange(0, BLOCK_R)
        tile = tl.load(x + r[:, None] * cols + c[None, :], mask=(r[:, None] < rows) & (c[None, :] < cols), other=0.0)
        total += tl.sum(tile * tile, axis=0)
    tl.store(out + c, tl.sqrt(total), mask=c < cols)


@triton.jit
def flag_kernel(norms, flags, limit, cols, BLOCK: tl.constexpr):
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.load(norms + c, mask=c < cols, other=0.0)
    tl.store(flags + c, (n > limit).to(tl.int32), mask=c < cols)


@triton.jit
def gather_kernel(x, flags, places, out, rows, cols, kept, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr):
    r = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)
    c = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    chosen = (c < cols) & (tl.load(flags + c, mask=c < cols, other=0) != 0)
    place = tl.load(places + c, mask=chosen, other=0)
    both = (r[:, None] < rows) & chosen[None, :]
    tile = tl.load(x + r[:, None] * cols + c[None, :], mask=both, other=0.0)
    tl.store(out + place[None, :] * rows + r[:, None], tile, mask=both)


class Pruner:
    def __init__(self, limit: float):
        self.limit = limit

    def places(self, flags: torch.Tensor) -> torch.Tensor:
        return torch.cumsum(flags, 0)

    def __call__(self, x: torch.Tensor, block: int) -> torch.Tensor:
        rows, cols = x.shape
        norms = torch.empty(cols, device="cuda")
        flags = torch.empty(cols, dtype=torch.int32, device="cuda")
        tiles = triton.cdiv(cols, block)
        norm_kernel[(tiles,)](x, norms, rows, cols, BLOCK_R=16, BLOCK_C=block)
        flag_kernel[(tiles,)](norms, flags, self.limit, cols, BLOCK=block)
        places = self.places(flags)
        kept = int(places[-1])
        out = torch.empty(kept, rows, device="cuda")
        if kept:
            grid = (triton.cdiv(rows, 16), tiles)
            gather_kernel[grid](x, flags, places, out, rows, cols, kept, BLOCK_R=16, BLOCK_C=block)
        return out


def example(case: Prune) -> torch.Tensor:
    weight = torch.arange(case.cols, device="cuda") < case.keep * case.cols
    return torch.ones(case.rows, case.cols, device="cuda") * weight


def main() -> None:
    prune = Pruner(limit=0.5)
    for case in (Prune(24, 64, 0.0), Prune(8, 40, 0.0, 16), Prune(24, 50, 0.3)):
        out = prune(example(case), case.block)
        torch.cuda.synchronize()
        print(case, tuple(out.shape))


if __name__ == "__main__":
    main()
