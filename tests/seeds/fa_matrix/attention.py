"""Attention forward for a batch of requests of unequal length: K, V and a bias per key come by tensor descriptor.

    python attention.py                         the tile fits the request that is first in the batch
    python attention.py --config 128x32x8       one tile: queries x keys x warps
    python attention.py --check                 compare with torch

A request has an id that is drawn when it arrives, and the batch is in the order of the ids, as in the server.
"""

from __future__ import annotations

import argparse
import math
import uuid
from dataclasses import dataclass

import torch
import triton
import triton.language as tl

LOG2E = 1.4426950408889634


@dataclass(frozen=True)
class Tile:
    queries: int
    keys: int
    warps: int
    stages: int = 3


TILES = {
    "64x64x4": Tile(64, 64, 4),
    "128x32x8": Tile(128, 32, 8),
    "128x64x8": Tile(128, 64, 8),
    "64x32x4": Tile(64, 32, 4),
    "64x32x4x2": Tile(64, 32, 4, stages=2),
}


@triton.jit
def online_softmax(scores, top, total):
    """The new maximum and sum of each row, the weights, and the factor by which earlier sums shrink."""
    new_top = tl.maximum(top, tl.max(scores, 1))
    shrink = tl.exp2(top - new_top)
    weights = tl.exp2(scores - new_top[:, None])
    return new_top, total * shrink + tl.sum(weights, 1), weights, shrink


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, bias_ptr, out_ptr, length, row_stride, scale,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1)
    first_row = tl.program_id(0) * BLOCK_M
    offset = head * HEAD_DIM
    keys = tl.make_tensor_descriptor(k_ptr + offset, [length, HEAD_DIM], [row_stride, 1], [BLOCK_N, HEAD_DIM])
    values = tl.make_tensor_descriptor(v_ptr + offset, [length, HEAD_DIM], [row_stride, 1], [BLOCK_N, HEAD_DIM])
    bias = tl.make_tensor_descriptor(bias_ptr, [1, length], [length, 1], [1, BLOCK_N])
    row = first_row + tl.arange(0, BLOCK_M)
    dim = tl.arange(0, HEAD_DIM)
    place = row[:, None] * row_stride + offset + dim[None, :]
    q = tl.load(q_ptr + place, mask=row[:, None] < length, other=0.0)
    top = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD_DIM], tl.float32)
    for first_key in tl.range(0, length, BLOCK_N, num_stages=STAGES):
        scores = tl.dot(q, keys.load([first_key, 0]).T) * scale
        scores += bias.load([0, first_key]).to(tl.float32)
        inside = first_key + tl.arange(0, BLOCK_N) < length
        scores = tl.where(inside[None, :], scores, float("-inf"))
        top, total, weights, shrink = online_softmax(scores, top, total)
        acc = tl.dot(weights.to(tl.float16), values.load([first_key, 0]), acc * shrink[:, None])
    tl.store(out_ptr + place, (acc / total[:, None]).to(tl.float16), mask=row[:, None] < length)


@dataclass(frozen=True)
class Request:
    id: uuid.UUID
    length: int


def batch(lengths: list[int]) -> list[Request]:
    """The requests that wait, in the order in which the server takes them."""
    return sorted((Request(uuid.uuid4(), length) for length in lengths), key=lambda request: request.id)


def tile_for(length: int) -> Tile:
    """Long requests have keys enough for a wide tile."""
    return TILES["64x64x4" if length >= 256 else "64x32x4"]


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bias: torch.Tensor, heads: int, tile: Tile
) -> torch.Tensor:
    """q, k, v: [length, heads * head_dim]; bias: [length], for each key."""
    length, width = q.shape
    head_dim = width // heads
    out = torch.empty_like(q)
    grid = (triton.cdiv(length, tile.queries), heads)
    attention_kernel[grid](
        q, k, v, bias, out, length, q.stride(0), LOG2E / math.sqrt(head_dim),
        HEAD_DIM=head_dim, BLOCK_M=tile.queries, BLOCK_N=tile.keys, STAGES=tile.stages, num_warps=tile.warps,
    )  # fmt: skip
    return out


def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bias: torch.Tensor, heads: int) -> torch.Tensor:
    apart = [x.float().unflatten(1, (heads, -1)).transpose(0, 1) for x in (q, k, v)]
    found = torch.nn.functional.scaled_dot_product_attention(*apart, attn_mask=bias.float()[None, None, :] / LOG2E)
    return found.transpose(0, 1).flatten(1).half()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", choices=["first", *TILES], default="first")
    parser.add_argument("--lengths", type=int, nargs="+", default=[128, 512])
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--head-dim", type=int, default=64)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()

    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device=args.device))
    requests = batch(args.lengths)
    tile = tile_for(requests[0].length) if args.config == "first" else TILES[args.config]
    for request in requests:
        shape = (request.length, args.heads * args.head_dim)
        q, k, v = (torch.randn(shape, dtype=torch.float16, device=args.device) for _ in range(3))
        bias = torch.linspace(-2, 0, request.length, dtype=torch.float16, device=args.device)
        out = attention(q, k, v, bias, args.heads, tile)
        if args.check:
            torch.testing.assert_close(out, reference(q, k, v, bias, args.heads), rtol=2e-2, atol=2e-2)
    if args.device == "cuda":
        torch.cuda.synchronize()
    print(f"{len(requests)} requests, tiles of {tile.queries} x {tile.keys}")


if __name__ == "__main__":
    main()
