"""Which tokens go to which expert, and how many found no place."""

import torch
import triton
import triton.language as tl


@triton.jit
def histogram_kernel(index_ptr, count_ptr, total, EXPERTS: tl.constexpr, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    offsets = start + tl.arange(0, BLOCK)
    index = tl.load(index_ptr + offsets, mask=offsets < total, other=0)
    expert = tl.arange(0, EXPERTS)
    hits = (index[:, None] == expert[None, :]) & (offsets < total)[:, None]
    tl.atomic_add(count_ptr + expert, tl.sum(hits.to(tl.int32), axis=0))


@triton.jit
def combine_kernel(x_ptr, weights_ptr, out_ptr, hidden, K: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    inside = cols < hidden
    x = tl.load(x_ptr + token * hidden + cols, mask=inside, other=0.0)
    scale = 0.0
    for choice in tl.static_range(K):
        scale += tl.load(weights_ptr + token * K + choice)
    tl.store(out_ptr + token * hidden + cols, x * scale, mask=inside)


def loads(index: torch.Tensor, experts: int) -> torch.Tensor:
    counts = torch.zeros(triton.next_power_of_2(experts), dtype=torch.int32, device=index.device)
    grid = (triton.cdiv(index.numel(), 64),)
    histogram_kernel[grid](index, counts, index.numel(), EXPERTS=counts.numel(), BLOCK=64)
    return counts[:experts]


def combine(x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    out = torch.zeros_like(x)
    tokens, hidden = x.shape
    combine_kernel[(tokens,)](x, weights, out, hidden, K=weights.shape[1], BLOCK=triton.next_power_of_2(hidden))
    return out
