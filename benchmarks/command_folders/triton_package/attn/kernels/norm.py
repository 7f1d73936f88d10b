"""RMS norm."""

import triton
import triton.language as tl

from attn.registry import register


@register("norm", {"x": "*fp32", "w": "*fp32", "out": "*fp32", "eps": "fp32"})
@triton.jit
def norm(x, w, out, eps, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, HEAD)
    values = tl.load(x + row * HEAD + at)
    scale = tl.rsqrt(tl.sum(values * values, 0) / HEAD + eps)
    tl.store(out + row * HEAD + at, values * scale * tl.load(w + at))
