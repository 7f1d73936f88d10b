"""One step of decoding: attention of one new token a sequence to all tokens before it, in two kernels.

python swapped_strides.py               the values are addressed with the strides of batch and head swapped
python swapped_strides.py --heads 1 --batch 1   where there is one of each, it does not matter
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import torch
import triton
import triton.language as tl


@triton.jit
def score_kernel(
    q_ptr, k_ptr, out_ptr, heads, tokens, q_batch, q_head, k_batch, k_head, k_token, scale,
    WIDTH: tl.constexpr, BLOCK: tl.constexpr,
):
    """Scores of BLOCK tokens for one head of one sequence."""
    batch, head = tl.program_id(0) // heads, tl.program_id(0) % heads
    token = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.arange(0, WIDTH)
    q = tl.load(q_ptr + batch * q_batch + head * q_head + cols).to(tl.float32)
    base = k_ptr + batch.to(tl.int64) * k_batch + head.to(tl.int64) * k_head
    k = tl.load(
        base + token[:, None] * k_token + cols[None, :], mask=(token < tokens)[:, None], other=0.0
    )
    score = tl.sum(k.to(tl.float32) * q[None, :], axis=1) * scale
    tl.store(out_ptr + tl.program_id(0) * tokens + token, score, mask=token < tokens)


@triton.jit
def mix_kernel(
    score_ptr, v_ptr, out_ptr, heads, tokens, v_batch, v_head, v_token, WIDTH: tl.constexpr,
    TOKENS: tl.constexpr, BLOCK: tl.constexpr,
):
    """The values of one head of one sequence, weighted."""
    batch, head = tl.program_id(0) // heads, tl.program_id(0) % heads
    cols = tl.arange(0, WIDTH)
    every = tl.arange(0, TOKENS)
    row_ptr = score_ptr + tl.program_id(0) * tokens
    top = tl.max(tl.load(row_ptr + every, mask=every < tokens, other=-float("inf")), axis=0)
    base = v_ptr + batch.to(tl.int64) * v_batch + head.to(tl.int64) * v_head
    total = tl.zeros([WIDTH], tl.float32)
    norm = 0.0
    for start in range(0, tokens, BLOCK):
        token = start + tl.arange(0, BLOCK)
        inside = token < tokens
        weight = tl.exp(tl.load(row_ptr + token, mask=inside, other=-float("inf")) - top)
        v = tl.load(
            base + token[:, None] * v_token + cols[None, :], mask=inside[:, None], other=0.0
        )
        total += tl.sum(weight[:, None] * v.to(tl.float32), axis=0)
        norm += tl.sum(weight, axis=0)
    tl.store(out_ptr + tl.program_id(0) * WIDTH + cols, total / norm)


@dataclass(frozen=True)
class Shape:
    batch: int
    heads: int
    tokens: int
    width: int = 4


def decode(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, block: int = 4) -> torch.Tensor:
    """Attention of `q` [batch, heads, width] to `k` and `v` [batch, heads, tokens, width]."""
    batch, heads, tokens, width = k.shape
    scores = torch.empty(batch, heads, tokens, device=q.device)
    out = torch.empty(batch, heads, width, device=q.device)
    strides = v.stride(1), v.stride(0), v.stride(2)  # shrink: keep
    mix_kernel[(batch * heads,)](
        scores, v, out, heads, tokens, *strides, width, triton.next_power_of_2(tokens), block
    )
    return out


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--heads", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=8192)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    shape = Shape(args.batch, args.heads, args.tokens)
    size = (shape.batch, shape.heads, shape.tokens, shape.width)
    k, v = (torch.ones(size, dtype=torch.float16, device=args.device) for _ in range(2))
    q = torch.ones(shape.batch, shape.heads, shape.width, dtype=torch.float16, device=args.device)
    out = decode(q, k, v)
    print(f"{tuple(out.shape)}, mean {out.mean().item():.3f}")


main()
