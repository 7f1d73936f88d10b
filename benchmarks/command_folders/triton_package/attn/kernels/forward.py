"""The forward pass, one block of queries a program."""

import triton
import triton.language as tl

from attn.registry import register


@triton.jit
def online_softmax(scores, highest, total):
    new = tl.maximum(highest, tl.max(scores, 1))
    scale = tl.exp(highest - new)
    weights = tl.exp(scores - new[:, None])
    return weights, new, total * scale + tl.sum(weights, 1), scale


@register("forward", {"q": "*fp16", "k": "*fp16", "v": "*fp16", "out": "*fp16", "length": "i32", "scaling": "fp32"})
@triton.jit
def forward(q, k, v, out, length, scaling, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD: tl.constexpr):
    pid = tl.program_id(0)
    rows = pid * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, HEAD)
    queries = tl.load(q + rows[:, None] * HEAD + columns[None, :], mask=rows[:, None] < length, other=0.0)
    highest = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD), tl.float32)
    for start in range(0, length, BLOCK_N):
        keys_at = start + tl.arange(0, BLOCK_N)
        keys = tl.load(k + keys_at[None, :] * HEAD + columns[:, None], mask=keys_at[None, :] < length, other=0.0)
        scores = tl.dot(queries, keys) * scaling
        scores = tl.where(keys_at[None, :] < length, scores, float("-inf"))
        weights, highest, total, scale = online_softmax(scores, highest, total)
        values = tl.load(v + keys_at[:, None] * HEAD + columns[None, :], mask=keys_at[:, None] < length, other=0.0)
        acc = acc * scale[None, :] + tl.dot(weights.to(tl.float16), values)
    acc = acc / total[:, None]
    tl.store(out + rows[:, None] * HEAD + columns[None, :], acc.to(tl.float16), mask=rows[:, None] < length)
