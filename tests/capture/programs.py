"""Programs that launch a thousand times, of which one launch is wrong; nothing in them knows of the hook."""

from __future__ import annotations

HEAD = """\
import sys

import torch
import triton
import triton.language as tl

SCALE: tl.constexpr = tl.constexpr(2)


@triton.jit
def doubled(x):
    return x * SCALE


@triton.jit
def scale(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, doubled(tl.load(x + at, mask=at < n)), mask=at < n)


@triton.jit
def pick(table, index, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = tl.load(index + at, mask=at < n, other=0)
    tl.store(out + at, tl.load(table + row, mask=at < n), mask=at < n)


@triton.jit
def jagged(x, out, n, shift, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    from_there = tl.max_contiguous(tl.multiple_of(shift + at, 16), 16)  # which is untrue of some
    tl.store(out + at, tl.load(x + from_there, mask=at < n), mask=at < n)


x, out = torch.randn(1000, device="cuda"), torch.empty(1000, device="cuda")
index = torch.arange(1000, device="cuda")


def grid(meta):
    return (triton.cdiv(1000, meta["BLOCK"]),)


def steps(first, last, odd=None):
    for step in range(first, last):
        scale[grid](x, out, 1000, BLOCK=512)
        pick[grid](x, index, out, 1000, BLOCK=512)
        jagged[grid](x, out, 512, 3 if step == odd else 16, BLOCK=512)


"""
WAITS = HEAD + "steps(0, 333, odd=300)\nscale[grid](x, out, 1000, BLOCK=512)\ntorch.cuda.synchronize()\n"
CATCHES = HEAD + (
    "steps(0, 3, odd=1)\ntry:\n    out.sum().item()\nexcept RuntimeError:\n    print('went on')\n"
    "steps(3, 4)\n"  # whose first launch fails alike
)
OF_ITS_OWN = "raise RuntimeError('CUDA error: an illegal memory access was encountered')\n"  # as torch raises it
ALL_WELL = HEAD + "steps(0, 3)\ntorch.cuda.synchronize()\nprint('well')\n"
COMPILES_NOT = HEAD + (
    "@triton.jit\ndef broken(x, N: tl.constexpr):\n    tl.store(x + tl.arange(0, N), 1.0)\n\n\n"
    "steps(0, 2)\nbroken[(1,)](x, 3)\n"
)

COMPILED = HEAD + (
    "@torch.compile\ndef model(x, shift):\n"
    "    y, out = torch.softmax(x * 2, -1), torch.empty_like(x)\n"
    "    jagged[(1,)](y, out, 512, shift, BLOCK=512)\n    return out + 1\n\n\n"
    "for step in range(10):\n    model(x.view(25, 40), 3 if step == 8 else 16)\n"
    "torch.cuda.synchronize()\n"
)
"""Of torch.compile: a kernel of the user's among those that Inductor generates."""
