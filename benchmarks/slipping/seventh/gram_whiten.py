"""Whitening of embeddings for retrieval: a shrunk covariance by tiles, its Cholesky factor, and a solve."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import argparse
import dataclasses

import torch
import triton
import triton.language as tl


@triton.jit
def means_kernel(x, means, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros([COLUMNS], tl.float32)
    for start in range(0, rows, ROWS):
        row = start + tl.arange(0, ROWS)
        keep = (row[:, None] < rows) & (column[None, :] < columns)
        total += tl.sum(tl.load(x + row[:, None] * columns + column[None, :], mask=keep, other=0.0), axis=0)
    tl.store(means + column, total / rows, mask=column < columns)


@triton.jit
def centred(x, means, row, column, rows, columns):
    """A tile of the data without the means of its columns."""
    keep = (row[:, None] < rows) & (column[None, :] < columns)
    value = tl.load(x + row[:, None] * columns + column[None, :], mask=keep, other=0.0)
    return tl.where(keep, value - tl.load(means + column, mask=column < columns, other=0.0)[None, :], 0.0)


@triton.jit
def tile_of(number, TILES: tl.constexpr):
    """Row and column of a tile of the upper triangle, which are numbered row by row."""
    row = 0
    for tried in tl.static_range(1, TILES):
        row += (number >= tried * TILES - tried * (tried - 1) // 2).to(tl.int32)
    return row, number - (row * TILES - row * (row - 1) // 2) + row


@triton.jit
def gram_kernel(x, means, gram, rows, columns, TILES: tl.constexpr, TILE: tl.constexpr, K: tl.constexpr):
    """One tile of the upper triangle, written to both sides of the diagonal."""
    above, beside = tile_of(tl.program_id(0), TILES)
    i, j = above * TILE + tl.arange(0, TILE), beside * TILE + tl.arange(0, TILE)
    total = tl.zeros([TILE, TILE], tl.float32)
    for start in range(0, rows, K):
        k = start + tl.arange(0, K)
        left, right = centred(x, means, k, i, rows, columns), centred(x, means, k, j, rows, columns)
        total = tl.dot(tl.trans(left), right, total)
    total = total / (rows - 1)
    keep = (i[:, None] < columns) & (j[None, :] < columns)
    tl.store(gram + i[:, None] * columns + j[None, :], total, mask=keep)
    mirrored = (j[:, None] < columns) & (i[None, :] < columns)
    tl.store(gram + j[:, None] * columns + i[None, :], total, mask=mirrored)


@triton.jit
def shrink_kernel(gram, level, columns, share, BLOCK: tl.constexpr):
    """A row nearer to a multiple of the identity."""
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    keep = column < columns
    value = tl.load(gram + row * columns + column, mask=keep, other=0.0)
    value = value * (1.0 - share) + tl.where(column == row, tl.load(level) * share, 0.0)
    tl.store(gram + row * columns + column, value, mask=keep)


@dataclasses.dataclass
class Whitener:
    means: torch.Tensor
    factor: torch.Tensor

    @classmethod
    def fitted(cls, x, share=0.01, tile=16):
        rows, columns = x.shape
        tiles = triton.cdiv(columns, tile)
        means, gram = x.new_empty(columns), x.new_zeros(columns, columns)
        means_kernel[(tiles,)](x, means, rows, columns, ROWS=32, COLUMNS=tile)
        gram_kernel[(tiles * (tiles + 1) // 2,)](x, means, gram, rows, columns, TILES=tiles, TILE=tile, K=32)
        level = gram.diagonal().mean()
        shrink_kernel[(columns,)](gram, level, columns, share, BLOCK=triton.next_power_of_2(columns))
        return cls(means, torch.linalg.cholesky(gram))

    def __call__(self, x):
        return torch.linalg.solve_triangular(self.factor, (x - self.means).T, upper=False).T


def embeddings(amount, width, topics=5, seed=0):
    """A few topics mixed into many columns, with some noise."""
    source = torch.Generator().manual_seed(seed)
    mixing = torch.randn(topics, width, generator=source)
    noise = torch.randn(amount, width, generator=source)
    return torch.randn(amount, topics, generator=source) @ mixing + 0.2 * noise + 1.0


def nearest(queries, documents):
    """For each query the document with the largest cosine."""
    unit = [torch.nn.functional.normalize(part, dim=1) for part in (queries, documents)]
    return (unit[0] @ unit[1].T).argmax(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=0.01, help="how far the covariance is shrunk")
    parser.add_argument("--widths", type=int, nargs="+", default=[10, 16, 44])
    args = parser.parse_args()
    for width in args.widths:
        amount = 30 + 2 * width
        documents = embeddings(amount, width)
        whitener = Whitener.fitted(documents, args.share)
        queries = documents[::7] + 0.02 * embeddings(amount, width, seed=1)[::7]
        hits = nearest(whitener(queries), whitener(documents)) == torch.arange(0, amount, 7)
        print(f"{width} columns: {hits.sum().item()} of {hits.numel()} documents found again")


if __name__ == "__main__":
    main()
