"""Rotary embedding."""

import triton
import triton.language as tl

from attn.registry import register


@register("rope", {"x": "*fp32", "cos": "*fp32", "sin": "*fp32"})
@triton.jit
def rope(x, cos, sin, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD: tl.constexpr):
    row = tl.program_id(0)
    half = tl.arange(0, HEAD // 2)
    a = tl.load(x + row * HEAD + half)
    b = tl.load(x + row * HEAD + HEAD // 2 + half)
    c = tl.load(cos + row * (HEAD // 2) + half)
    s = tl.load(sin + row * (HEAD // 2) + half)
    tl.store(x + row * HEAD + half, a * c - b * s)
    tl.store(x + row * HEAD + HEAD // 2 + half, a * s + b * c)
