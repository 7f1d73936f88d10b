"""Adds a banded bias to attention scores: two masks, one of queries and one of keys."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"BQ": 16, "BK": 32}, num_warps=2), triton.Config({"BQ": 32, "BK": 32}, num_warps=4)],
    key=["queries", "keys"],
)
@triton.jit
def bias_kernel(scores, bias, queries, keys, band, stride_q, BQ: tl.constexpr, BK: tl.constexpr):
    q = tl.program_id(0) * BQ + tl.arange(0, BQ)
    k = tl.program_id(1) * BK + tl.arange(0, BK)
    q_live = q < queries
    k_live = k < keys
    where = q[:, None] * stride_q + k[None, :]
    both = q_live[:, None] & k_live[None, :]
    s = tl.load(scores + where, mask=both, other=0.0)
    distance = tl.minimum(tl.maximum(k[None, :] - q[:, None] + band, 0), 2 * band)
    b = tl.load(bias + distance, mask=both, other=0.0)
    tl.store(scores + where, s + b, mask=both)


@triton.jit
def live_of(at, limit):
    return at, at < limit


@triton.jit
def softmax_kernel(scores, sums, queries, keys, stride_q, BQ: tl.constexpr, BK: tl.constexpr):
    q, q_live = live_of(tl.program_id(0) * BQ + tl.arange(0, BQ), queries)
    k, k_live = live_of(tl.arange(0, BK), keys)
    inside = q_live[:, None] & k_live[None, :]
    s = tl.load(scores + q[:, None] * stride_q + k[None, :], mask=inside, other=float("-inf"))
    top = tl.max(s, axis=1)
    total = tl.sum(tl.exp(s - top[:, None]), axis=1)
    tl.store(sums + q, total, mask=q_live)


@triton.jit
def column_kernel(scores, sums, out, queries, keys, stride_q, BQ: tl.constexpr, BK: tl.constexpr):
    """What each key gets, over all queries."""
    k = tl.program_id(0) * BK + tl.arange(0, BK)
    k_live = k < keys
    got = tl.zeros([BK], tl.float32)
    for start in range(0, queries, BQ):
        q = start + tl.arange(0, BQ)
        q_live = q < queries
        inside = q_live[:, None] & k_live[None, :]
        s = tl.load(scores + q[:, None] * stride_q + k[None, :], mask=inside, other=float("-inf"))
        total = tl.load(sums + q, mask=q < keys, other=1.0)
        got += tl.sum(tl.exp(s) / total[:, None], axis=0)
    tl.store(out + k, got, mask=k_live)


class Attention:
    def __init__(self, band: int):
        self.band = band
        self.bias = torch.linspace(-1, 0, 2 * band + 1, device="cuda")

    def __call__(self, scores: torch.Tensor) -> torch.Tensor:
        queries, keys = scores.shape
        bias_kernel[lambda m: (triton.cdiv(queries, m["BQ"]), triton.cdiv(keys, m["BK"]))](
            scores, self.bias, queries, keys, self.band, scores.stride(0)
        )
        sums = torch.empty(queries, device="cuda")
        width = triton.next_power_of_2(keys)
        softmax_kernel[(triton.cdiv(queries, 16),)](scores, sums, queries, keys, scores.stride(0), BQ=16, BK=width)
        out = torch.empty(keys, device="cuda")
        column_kernel[(triton.cdiv(keys, 32),)](scores, sums, out, queries, keys, scores.stride(0), BQ=16, BK=32)
        return out


def main() -> None:
    attention = Attention(8)
    for queries, keys in ((64, 64), (33, 20), (40, 100)):
        got = attention(torch.rand(queries, keys, device="cuda"))
        torch.cuda.synchronize()
        print(queries, keys, got.shape)


main()
