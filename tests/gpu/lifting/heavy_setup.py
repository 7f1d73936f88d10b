"""Vector search over a corpus that fills a good part of the GPU: load, train the centroids, rescore one list.

    python heavy_setup.py                               20 GB, a minute of training
    python heavy_setup.py --seconds 5 --gigabytes 2

The corpus is made up; its size and the training time are what counts.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field

import torch
import triton
import triton.language as tl

SHARD_ROWS = 1 << 20
SAMPLE = 1 << 15


@triton.jit
def norms_kernel(shard_ptr, norms_ptr, rows, stride, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    """Squared length of each row of a shard."""
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = row.to(tl.int64)[:, None] * stride + tl.arange(0, WIDTH)[None, :]
    x = tl.load(shard_ptr + at, mask=(row < rows)[:, None], other=0.0)
    tl.store(norms_ptr + row, tl.sum(x * x, axis=1), mask=row < rows)


@triton.jit
def rescore_kernel(
    query_ptr, shard_ptr, norms_ptr, scores_ptr, first_row, rows, stride, WIDTH: tl.constexpr, BLOCK: tl.constexpr
):
    """Cosine of the query with `rows` rows of the corpus, from `first_row` on."""
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.arange(0, WIDTH)
    query = tl.load(query_ptr + cols)
    at = (first_row + row).to(tl.int64)[:, None] * stride + cols[None, :]
    x = tl.load(shard_ptr + at, mask=(row < rows)[:, None], other=0.0)
    norm = tl.load(norms_ptr + row, mask=row < rows, other=1.0)
    score = tl.sum(x * query[None, :], axis=1) / tl.sqrt(norm)
    tl.store(scores_ptr + row, score, mask=row < rows)


@dataclass
class Index:
    """The corpus in shards of SHARD_ROWS rows, with the norms of each, and the centroids."""

    width: int
    device: str
    shards: list[torch.Tensor] = field(default_factory=list)
    norms: list[torch.Tensor] = field(default_factory=list)
    centroids: torch.Tensor | None = None

    @property
    def row_bytes(self) -> int:
        return self.width * self.shards[0].element_size()

    def add(self, shard: torch.Tensor) -> None:
        norms = torch.empty(len(shard), device=self.device)
        grid = (triton.cdiv(len(shard), 16),)
        norms_kernel[grid](shard, norms, len(shard), shard.stride(0), WIDTH=self.width, BLOCK=16)
        self.shards.append(shard)
        self.norms.append(norms)

    def train(self, lists: int, seconds: float) -> int:
        """Lloyd's algorithm on a sample until the time is up."""
        sample = self.shards[0][:SAMPLE]
        self.centroids = sample[torch.randperm(len(sample), device=self.device)[:lists]].clone()
        end, steps = time.monotonic() + seconds, 0
        while steps == 0 or time.monotonic() < end:
            distance = self.centroids.square().sum(1) - 2 * (sample @ self.centroids.T)
            nearest = distance.argmin(1)
            total = torch.zeros_like(self.centroids).index_add_(0, nearest, sample)
            count = torch.bincount(nearest, minlength=lists).clamp(min=1)
            self.centroids = total / count[:, None]
            torch.cuda.synchronize()
            steps += 1
        return steps

    def rescore(self, query: torch.Tensor, number: int) -> torch.Tensor:
        """Cosines of the query with all rows of one shard."""
        shard = self.shards[number]
        scores = torch.empty(len(shard), device=self.device)
        rescore_kernel[(triton.cdiv(len(shard), 16),)](
            query,
            shard,
            self.norms[number],
            scores,
            number * SHARD_ROWS,
            len(shard),
            self.row_bytes,
            WIDTH=self.width,
            BLOCK=16,
        )
        return scores


def load(index: Index, gigabytes: float) -> None:
    rows = int(gigabytes * 1e9 / (4 * index.width))
    while rows > 0:
        index.add(torch.randn(min(rows, SHARD_ROWS), index.width, device=index.device))
        rows -= SHARD_ROWS
    print(f"{len(index.shards)} shards, {torch.cuda.memory_allocated() / 1e9:.1f} GB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="of training")
    parser.add_argument("--gigabytes", type=float, default=20, help="of corpus")
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--lists", type=int, default=256)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()

    torch.manual_seed(0)
    index = Index(args.width, args.device)
    load(index, args.gigabytes)
    steps = index.train(args.lists, args.seconds)
    print(f"{steps} steps of training")
    query = torch.randn(args.width, device=args.device)
    best = index.rescore(query, len(index.shards) - 1).topk(10)
    print("best rows:", best.indices.tolist())


if __name__ == "__main__":
    main()
