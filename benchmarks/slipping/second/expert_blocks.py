"""Routed experts: tokens are sorted into blocks of one expert each, and a grouped matmul walks the blocks."""

import logging
import sys
from typing import NamedTuple

import torch
import triton
import triton.language as tl

log = logging.getLogger(__name__)


class Sizes(NamedTuple):
    tokens: int
    hidden: int
    inner: int
    experts: int
    topk: int = 2
    block: int = 16


@triton.jit
def count_kernel(choices, counts, amount, BLOCK: tl.constexpr):
    expert = tl.program_id(0)
    seen = tl.zeros([BLOCK], tl.int32)
    for start in range(0, amount, BLOCK):
        at = start + tl.arange(0, BLOCK)
        choice = tl.load(choices + at, mask=at < amount, other=-1)
        seen += (choice == expert).to(tl.int32)
    tl.store(counts + expert, tl.sum(seen, axis=0))


@triton.jit
def align_kernel(counts, starts, owners, blocks, experts, E: tl.constexpr, BLOCK: tl.constexpr):
    """Where each expert's rows begin, rounded up to whole blocks, and the expert that owns each block."""
    e = tl.arange(0, E)
    count = tl.load(counts + e, mask=e < experts, other=0)
    padded = (count + BLOCK - 1) // BLOCK * BLOCK
    ends = tl.cumsum(padded, axis=0)
    tl.store(starts + e, ends - padded, mask=e < experts)
    for block in range(blocks):
        before = (ends <= block * BLOCK) & (e < experts)
        owner = tl.sum(before.to(tl.int32), axis=0)
        tl.store(owners + block, owner)


@triton.jit
def place_kernel(choices, starts, sorted_rows, amount):
    expert = tl.program_id(0)
    at = tl.load(starts + expert)
    for i in range(amount):
        if tl.load(choices + i) == expert:
            tl.store(sorted_rows + at, i)
            at += 1


@triton.jit
def silu(x):
    return x * tl.sigmoid(x)


@triton.jit
def grouped_kernel(
    x, weights, out, sorted_rows, owners, amount, hidden, inner, TOPK: tl.constexpr, BLOCK: tl.constexpr,
    BN: tl.constexpr, BK: tl.constexpr,
):
    block = tl.program_id(0)
    owner = tl.load(owners + block)
    if owner < 0:
        return
    row = tl.load(sorted_rows + block * BLOCK + tl.arange(0, BLOCK))
    valid = row < amount
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros([BLOCK, BN], tl.float32)
    for start in range(0, hidden, BK):
        k = start + tl.arange(0, BK)
        left = tl.load(x + (row // TOPK)[:, None] * hidden + k[None, :], mask=valid[:, None], other=0.0)
        right = tl.load(weights + owner * hidden * inner + k[:, None] * inner + n[None, :])
        acc = tl.dot(left, right, acc)
    tl.store(out + row[:, None] * inner + n[None, :], silu(acc), mask=valid[:, None])


def sort_rows(choices, sizes):
    amount = choices.numel()
    blocks = triton.cdiv(amount, sizes.block) + sizes.experts
    counts = torch.empty(sizes.experts, dtype=torch.int32, device="cuda")
    starts = torch.empty_like(counts)
    owners = torch.empty(blocks, dtype=torch.int32, device="cuda")
    sorted_rows = torch.full((blocks * sizes.block,), amount, dtype=torch.int32, device="cuda")
    count_kernel[(sizes.experts,)](choices, counts, amount, BLOCK=64)
    pow2 = triton.next_power_of_2(sizes.experts)
    align_kernel[(1,)](counts, starts, owners, blocks, sizes.experts, E=pow2, BLOCK=sizes.block)
    place_kernel[(sizes.experts,)](choices, starts, sorted_rows, amount)
    return sorted_rows, owners


def experts_forward(x, weights, choices, sizes):
    sorted_rows, owners = sort_rows(choices, sizes)
    out = torch.empty(choices.numel(), sizes.inner, device=x.device)
    grid = (owners.numel(), sizes.inner // 32)
    grouped_kernel[grid](
        x, weights, out, sorted_rows, owners, choices.numel(), sizes.hidden, sizes.inner,
        TOPK=sizes.topk, BLOCK=sizes.block, BN=32, BK=32,
    )
    return out.view(sizes.tokens, sizes.topk, -1)


def route(x, router, topk):
    scores = torch.softmax(x @ router, dim=-1)
    share, choices = scores.topk(topk, dim=-1)
    return share / share.sum(-1, keepdim=True), choices.to(torch.int32).reshape(-1)


def main(argv):
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    sizes = Sizes(tokens=int(argv[0]) if argv else 24, hidden=64, inner=64, experts=5)
    torch.manual_seed(sizes.tokens)
    x = torch.randn(sizes.tokens, sizes.hidden).cuda()
    router = torch.randn(sizes.hidden, sizes.experts).cuda()
    weights = torch.randn(sizes.experts, sizes.hidden, sizes.inner).cuda() / 8
    share, choices = route(x, router, sizes.topk)
    mixed = (experts_forward(x, weights, choices, sizes) * share[..., None]).sum(1)
    torch.cuda.synchronize()
    log.info("mean square %.3f", mixed.square().mean().item())


if __name__ == "__main__":
    main(sys.argv[1:])
