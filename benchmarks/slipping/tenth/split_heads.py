"""Scores of queries and keys in parts of a head: how a head is split hangs on how many processors there are."""

from dataclasses import dataclass

import torch
import triton
import triton.language as tl


@dataclass(frozen=True)
class Heads:
    count: int
    dim: int
    groups: int = 1

    @property
    def width(self) -> int:
        return self.count * self.dim


def parts_of(heads: Heads, rows: int, processors: int = 132) -> int:
    """In how many parts a head is split, so that all processors have work."""
    blocks = heads.count * triton.cdiv(rows, 32)
    parts = 1
    while blocks * parts < processors and parts < heads.dim // 4:
        parts *= 2
    return parts


@triton.jit
def rotate_kernel(x, rows, width, angle, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    live = (column < width) & (row < rows)
    value = tl.load(x + row * width + column, mask=live, other=0.0)
    turned = value.to(tl.float32) * tl.cos(angle * row)
    tl.store(x + row * width + column, turned.to(x.dtype.element_ty), mask=live)


@triton.jit
def score_kernel(q, k, out, rows, width, DIM: tl.constexpr, PART: tl.constexpr, BLOCK: tl.constexpr):
    head, part = tl.program_id(1), tl.program_id(2)
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    key = tl.arange(0, BLOCK)
    at = head * DIM + part * PART + tl.arange(0, PART)
    left = tl.load(q + row[:, None] * width + at[None, :], mask=(row < rows)[:, None], other=0.0)
    for start in range(0, rows, BLOCK):
        other = start + key
        right = tl.load(k + other[None, :] * width + at[:, None], mask=(other < rows)[None, :], other=0.0)
        score = tl.dot(left, right)
        where = out + (head * rows + row[:, None]) * rows + other[None, :]
        tl.atomic_add(where, score, mask=(row < rows)[:, None] & (other < rows)[None, :])


def scores(q: torch.Tensor, k: torch.Tensor, heads: Heads) -> torch.Tensor:
    rows = q.shape[0]
    for x in (q, k):
        rotate_kernel[(rows,)](x, rows, heads.width, 0.01, BLOCK=triton.next_power_of_2(heads.width))
    parts = parts_of(heads, rows)
    out = torch.zeros(heads.count, rows, rows, device="cuda")
    grid = (triton.cdiv(rows, 32), heads.count, parts)
    score_kernel[grid](q, k, out, rows, heads.width, DIM=heads.dim, PART=heads.dim // parts, BLOCK=32)
    return out


def main() -> None:
    for heads, rows in ((Heads(16, 64), 512), (Heads(32, 32), 200), (Heads(4, 32), 64)):
        q, k = (torch.randn(rows, heads.width, dtype=torch.float16, device="cuda") for _ in range(2))
        out = scores(q, k, heads)
        torch.cuda.synchronize()
        print(heads, rows, out.shape)


if __name__ == "__main__":
    main()
