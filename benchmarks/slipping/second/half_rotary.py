"""Attention with rotary positions in half precision: the tables of the angles live in the module."""

import argparse
import math
from contextlib import nullcontext

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def rotate(even, odd, cos, sin):
    return even * cos - odd * sin, even * sin + odd * cos


@triton.jit
def halves(base, row, keep, stride, HALF: tl.constexpr):
    column = tl.arange(0, HALF)
    at = base + row[:, None] * stride + column[None, :]
    return tl.load(at, mask=keep[:, None], other=0.0), tl.load(at + HALF, mask=keep[:, None], other=0.0)


@triton.jit
def attend_kernel(
    q, k, v, cos, sin, out, length, scale,
    WIDTH: tl.constexpr, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):
    HALF: tl.constexpr = WIDTH // 2
    base = tl.program_id(1) * length * WIDTH
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.arange(0, HALF)
    q_even, q_odd = halves(q + base, m, m < length, WIDTH, HALF)
    angle = m[:, None] * HALF + column[None, :]
    q_cos = tl.load(cos + angle, mask=(m < length)[:, None], other=1.0)
    q_sin = tl.load(sin + angle, mask=(m < length)[:, None], other=0.0)
    q_even, q_odd = rotate(q_even, q_odd, q_cos, q_sin)
    best = tl.full([BM], float("-inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, WIDTH], tl.float32)
    for start in range(0, length, BN):
        n = start + tl.arange(0, BN)
        k_even, k_odd = halves(k + base, n, n < length, WIDTH, HALF)
        angle = n[:, None] * HALF + column[None, :]
        k_cos = tl.load(cos + angle, mask=(n < length)[:, None], other=1.0)
        k_sin = tl.load(sin + angle, mask=(n < length)[:, None], other=0.0)
        k_even, k_odd = rotate(k_even, k_odd, k_cos, k_sin)
        scores = (tl.dot(q_even, k_even.T) + tl.dot(q_odd, k_odd.T)) * scale
        seen = (n < length)[None, :]
        if CAUSAL:
            seen = seen & (n[None, :] <= m[:, None])
        scores = tl.where(seen, scores, float("-inf"))
        fresh = tl.maximum(best, tl.max(scores, axis=1))
        weights = tl.exp(scores - fresh[:, None])
        shrunk = tl.exp(best - fresh)
        total = total * shrunk + tl.sum(weights, axis=1)
        rows = v + base + n[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
        values = tl.load(rows, mask=(n < length)[:, None], other=0.0)
        acc = acc * shrunk[:, None] + tl.dot(weights.to(q_even.dtype), values)
        best = fresh
    at = out + base + m[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    tl.store(at, acc / total[:, None], mask=(m < length)[:, None])


@triton.jit
def bias_gelu_kernel(x, bias, out, amount, columns, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < amount
    value = tl.load(x + at, mask=keep, other=0.0) + tl.load(bias + at % columns, mask=keep, other=0.0)
    wide = value.to(tl.float32)
    tl.store(out + at, 0.5 * wide * (1.0 + tl.erf(wide * 0.70710678)), mask=keep)


class Rotary(nn.Module):
    def __init__(self, width, longest, base=10000.0):
        super().__init__()
        speeds = torch.exp(-math.log(base) * torch.arange(0, width, 2) / width)
        angles = torch.arange(longest)[:, None] * speeds[None, :]
        self.table = torch.stack([angles.cos(), angles.sin()])

    def tables(self, length, device):
        table = self.table[:, :length].to(device)
        return table[0].contiguous(), table[1].contiguous()


class Attention(nn.Module):
    def __init__(self, hidden, heads, longest=256):
        super().__init__()
        self.heads, self.width = heads, hidden // heads
        self.project = nn.Linear(hidden, 3 * hidden, bias=False)
        self.rotary = Rotary(self.width, longest)
        self.bias = nn.Parameter(torch.zeros(hidden))

    def forward(self, x, causal=True):
        batch, length, hidden = x.shape
        parts = self.project(x).view(batch, length, 3, self.heads, self.width)
        q, k, v = (part.transpose(1, 2).contiguous() for part in parts.unbind(2))
        cos, sin = self.rotary.tables(length, x.device)
        out = torch.empty_like(q)
        attend_kernel[(triton.cdiv(length, 32), batch * self.heads)](
            q, k, v, cos, sin, out, length, self.width**-0.5, WIDTH=self.width, CAUSAL=causal, BM=32, BN=32
        )
        mixed = out.transpose(1, 2).reshape(batch, length, hidden)
        final = torch.empty_like(mixed)
        bias_gelu_kernel[(triton.cdiv(mixed.numel(), 512),)](
            mixed, self.bias, final, mixed.numel(), hidden, BLOCK=512
        )
        return final


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--train", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(6)
    attention = Attention(args.hidden, args.heads).to("cuda").half()
    with nullcontext() if args.train else torch.no_grad():
        x = torch.randn(2, 50, args.hidden, device="cuda", dtype=torch.float16)
        print(attention(x).float().std().item())
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
