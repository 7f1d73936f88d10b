"""A paged key-value cache: copies the pages of some sequences into one place for attention.

    python paged_cache.py                   4,096 pages: the last ones lie more than 2**31 elements from the first
    python paged_cache.py --pages 1000      a small cache is fine

Page numbers are 32-bit, as block tables have them.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import torch
import triton
import triton.language as tl


@triton.jit
def page_start(page: tl.tensor, stride: tl.tensor):
    """Where a page begins."""
    return page * stride


@triton.jit
def copy_pages_kernel(
    cache_ptr, table_ptr, out_ptr, page_stride, out_stride, tokens, TOKENS: tl.constexpr, WIDTH: tl.constexpr
):
    """One page, a token a row; the heads of a token lie behind each other."""
    slot = tl.program_id(0)
    page = tl.load(table_ptr + slot)
    token = tl.arange(0, TOKENS)
    cols = tl.arange(0, WIDTH)
    inside = (token < tokens)[:, None]
    x = tl.load(
        cache_ptr + page_start(page, page_stride) + token[:, None] * WIDTH + cols[None, :], mask=inside, other=0
    )
    tl.store(out_ptr + slot.to(tl.int64) * out_stride + token[:, None] * WIDTH + cols[None, :], x, mask=inside)


@triton.jit
def scale_kernel(x_ptr, scale_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32)
    tl.store(out_ptr + at, x * tl.load(scale_ptr), mask=at < n)


@dataclass(frozen=True)
class Layout:
    pages: int
    tokens: int = 16
    heads: int = 8
    width: int = 64
    layers: int = 80

    @property
    def page(self) -> int:
        """Bytes of a page, for all layers."""
        return self.tokens * self.heads * self.width * self.layers


class Cache:
    """Keys as int8 with one scale, all layers of a page behind each other."""

    def __init__(self, layout: Layout, device: str) -> None:
        self.layout = layout
        self.data = torch.empty(layout.pages, layout.page, dtype=torch.int8, device=device)
        self.scale = torch.full((1,), 0.05, device=device)

    def gather(self, table: torch.Tensor) -> torch.Tensor:
        """The first layer of these pages, scaled."""
        layout = self.layout
        width = layout.heads * layout.width
        out = torch.empty(len(table), layout.tokens, width, dtype=torch.int8, device=table.device)
        copy_pages_kernel[(len(table),)](
            self.data, table, out, self.data.stride(0), out.stride(0), layout.tokens, TOKENS=layout.tokens, WIDTH=width
        )
        scaled = torch.empty(out.shape, device=table.device)
        scale_kernel[(triton.cdiv(out.numel(), 1024),)](out, self.scale, scaled, out.numel(), BLOCK=1024)
        return scaled


def tables(pages: int, sequences: int, device: str) -> list[torch.Tensor]:
    """Block tables: pages are handed out from both ends of the free list."""
    half = min(8, pages // 2)
    order = [*range(half), *range(pages - half, pages)]
    each = len(order) // sequences
    return [torch.tensor(order[i * each : (i + 1) * each], dtype=torch.int32, device=device) for i in range(sequences)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=4096)
    parser.add_argument("--sequences", type=int, default=2)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    cache = Cache(Layout(args.pages), args.device)
    for number, table in enumerate(tables(args.pages, args.sequences, args.device)):
        keys = cache.gather(table)
        torch.cuda.synchronize()
        print(f"sequence {number}: {tuple(keys.shape)}")


if __name__ == "__main__":
    main()
