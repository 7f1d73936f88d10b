"""Activations are quantised in shards of columns, one a rank: peaks by tiles of TMA, codes of 8 bits, then a sum."""

import argparse
import dataclasses

import torch
import triton
import triton.language as tl


@dataclasses.dataclass(frozen=True)
class Shard:
    """The columns of a rank."""

    rank: int
    start: int
    width: int

    @property
    def shape(self):
        return triton.next_power_of_2(self.width)


def shards_of(columns, ranks):
    """The columns of all ranks, as even as they can be."""
    edges = [columns * rank // ranks for rank in range(ranks + 1)]
    return [Shard(rank, start, end - start) for rank, (start, end) in enumerate(zip(edges, edges[1:]))]


@triton.jit
def tiles_of(x, start, tokens, width, pitch, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    return tl.make_tensor_descriptor(
        x + start, shape=[tokens, width], strides=[pitch, 1], block_shape=[ROWS, COLUMNS]
    )


@triton.jit
def peaks_kernel(x, peaks, start, tokens, width, pitch, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """The largest value of each token within a shard; a tile is filled up with zeros."""
    row = tl.program_id(0) * ROWS
    tiles = tiles_of(x, start, tokens, width, pitch, ROWS, COLUMNS)
    peak = tl.full([ROWS], 1e-6, tl.float32)
    for column in range(0, width, COLUMNS):
        tile = tiles.load([row, column]).to(tl.float32)
        peak = tl.maximum(peak, tl.max(tl.abs(tile), axis=1))
    token = row + tl.arange(0, ROWS)
    tl.store(peaks + token, peak, mask=token < tokens)


@triton.jit
def codes_kernel(x, peaks, codes, start, tokens, width, pitch, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row, column = tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS
    token, place = row + tl.arange(0, ROWS), column + tl.arange(0, COLUMNS)
    tiles = tiles_of(x, start, tokens, width, pitch, ROWS, COLUMNS)
    peak = tl.load(peaks + token, mask=token < tokens, other=1.0)
    code = tiles.load([row, column]).to(tl.float32) * (127.0 / peak)[:, None]
    keep = (token[:, None] < tokens) & (place[None, :] < width)
    tl.store(codes + token[:, None] * width + place[None, :], tl.floor(code + 0.5).to(tl.int8), mask=keep)


@triton.jit
def product_kernel(codes, peaks, weights, out, start, width, RANK: tl.constexpr, BLOCK: tl.constexpr):
    """What a shard adds to the dot product of a token; the first rank begins the sum."""
    token = tl.program_id(0)
    place = tl.arange(0, BLOCK)
    keep = place < width
    code = tl.load(codes + token * width + place, mask=keep, other=0).to(tl.float32)
    weight = tl.load(weights + start + place, mask=keep, other=0.0)
    total = tl.sum(code * weight, axis=0) * tl.load(peaks + token) / 127.0
    if RANK > 0:
        total += tl.load(out + token)
    tl.store(out + token, total)


class Sharded:
    """A layer with a single output whose inputs are spread over ranks."""

    def __init__(self, columns, ranks, rows=16, tile=32):
        self.columns, self.rows, self.tile = columns, rows, tile
        self.shards = shards_of(columns, ranks)
        self.weights = torch.randn(columns, device="cuda")

    def codes(self, x, shard):
        tokens = x.shape[0]
        peaks = torch.empty(tokens, device=x.device)
        codes = torch.empty(tokens, shard.width, dtype=torch.int8, device=x.device)
        sizes = shard.start, tokens, shard.width, x.stride(0)
        tile = {"ROWS": self.rows, "COLUMNS": self.tile}
        down, across = triton.cdiv(tokens, self.rows), triton.cdiv(shard.width, self.tile)
        peaks_kernel[(down,)](x, peaks, *sizes, **tile)
        codes_kernel[(down, across)](x, peaks, codes, *sizes, **tile)
        return codes, peaks

    def __call__(self, x):
        out = torch.empty(x.shape[0], device=x.device)
        for shard in self.shards:
            codes, peaks = self.codes(x, shard)
            product_kernel[(x.shape[0],)](
                codes, peaks, self.weights, out, shard.start, shard.width, RANK=shard.rank, BLOCK=shard.shape,
            )
        return out


def scratch(size, alignment, stream):
    return torch.empty(size, dtype=torch.int8, device="cuda")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=24)
    parser.add_argument("--columns", type=int, default=320)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4, 6])
    args = parser.parse_args()
    triton.set_allocator(scratch)
    x = torch.randn(args.tokens, args.columns, dtype=torch.float16, device="cuda")
    for ranks in args.ranks:
        layer = Sharded(args.columns, ranks)
        out = layer(x)
        torch.cuda.synchronize()
        widths = ", ".join(str(shard.width) for shard in layer.shards)
        print(f"{ranks} ranks with {widths} columns: {tuple(out.shape)}")


if __name__ == "__main__":
    main()
