"""Attention over one sequence in blocks of keys: the queries are scaled before, and the output is gated behind."""

import argparse

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x, out, scale, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0).to(tl.float32)
    tl.store(out + at, (value * scale).to(tl.float16), mask=at < n)


@triton.jit
def attention_kernel(q, k, v, out, length, stride, ROWS: tl.constexpr, KEYS: tl.constexpr, WIDTH: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    lane = tl.arange(0, WIDTH)
    query = tl.load(q + row[:, None] * stride + lane[None, :])
    result = tl.zeros((ROWS, WIDTH), tl.float32)
    weight = tl.zeros((ROWS,), tl.float32)
    highest = tl.full((ROWS,), -float("inf"), tl.float32)
    for first in range(0, length, KEYS):
        key = first + tl.arange(0, KEYS)
        score = tl.dot(query, tl.load(k + key[None, :] * stride + lane[:, None]))
        higher = tl.maximum(highest, tl.max(score, 1))
        share = tl.exp(score - higher[:, None])
        less = tl.exp(highest - higher)
        weight = weight * less + tl.sum(share, 1)
        result = result * less[:, None]
        value = tl.load(v + key[:, None] * stride + lane[None, :])
        result += tl.dot(share.to(tl.float16), value)
        highest = higher
    tl.store(out + row[:, None] * stride + lane[None, :], (result / weight[:, None]).to(tl.float16))


@triton.jit
def gate_kernel(x, gate, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0).to(tl.float32)
    tl.store(out + at, value * tl.sigmoid(tl.load(gate + at, mask=at < n, other=0.0).to(tl.float32)), mask=at < n)


def attention(q, k, v, gate):
    length, width = q.shape
    scaled, mixed = torch.empty_like(q), torch.empty_like(q)
    out = torch.empty(length, width, device=q.device)
    blocks = triton.cdiv(q.numel(), 1024)
    scale_kernel[(blocks,)](q, scaled, width**-0.5, q.numel(), BLOCK=1024)
    attention_kernel[(triton.cdiv(length, 128),)](
        scaled, k, v, mixed, length, q.stride(0), ROWS=128, KEYS=64, WIDTH=128, num_warps=4, num_stages=1
    )
    gate_kernel[(blocks,)](mixed, gate, out, q.numel(), BLOCK=1024)
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--length", type=int, default=512)
    args = parser.parse_args()
    torch.manual_seed(0)
    q, k, v, gate = (torch.randn(args.length, 128, device="cuda", dtype=torch.float16) for _ in range(4))
    out = attention(q, k, v, gate)
    torch.cuda.synchronize()
    print("mean", out.mean().item())


if __name__ == "__main__":
    main()
