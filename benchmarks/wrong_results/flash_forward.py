"""Forward pass of causal attention, blockwise over the keys."""
import math
from typing import NamedTuple

import torch
import triton
import triton.language as tl


class Shape(NamedTuple):
    batch: int
    heads: int
    seq: int
    dim: int


@triton.jit
def load_tile(ptr, rows, cols, stride_row, seq):
    return tl.load(ptr + rows[:, None] * stride_row + cols[None, :], mask=rows[:, None] < seq, other=0.0)


@triton.jit
def attention_kernel(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, seq, sm_scale,
                     stride_head, stride_seq,
                     CAUSAL: tl.constexpr, DIM: tl.constexpr,
                     BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    block = tl.program_id(0)
    head = tl.program_id(1)
    base = head.to(tl.int64) * stride_head
    rows = block * BLOCK_M + tl.arange(0, BLOCK_M)
    dims = tl.arange(0, DIM)
    q = load_tile(q_ptr + base, rows, dims, stride_seq, seq)

    m_i = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    l_i = tl.zeros((BLOCK_M,), dtype=tl.float32)
    acc = tl.zeros((BLOCK_M, DIM), dtype=tl.float32)
    end = seq
    if CAUSAL:
        end = tl.minimum(seq, (block + 1) * BLOCK_M)
    for start in range(0, end, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        k = load_tile(k_ptr + base, cols, dims, stride_seq, seq)
        v = load_tile(v_ptr + base, cols, dims, stride_seq, seq)
        scores = tl.dot(q, tl.trans(k)) * sm_scale
        keep = cols[None, :] < seq
        if CAUSAL:
            keep = keep & (cols[None, :] <= rows[:, None])
        scores = tl.where(keep, scores, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(scores, axis=1))
        p = tl.exp(scores - m_new[:, None])
        alpha = tl.exp(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, axis=1)
        acc = tl.dot(p.to(v.dtype), v, acc)
        acc = acc * alpha[:, None]
        m_i = m_new
    acc = acc / l_i[:, None]
    tl.store(o_ptr + base + rows[:, None] * stride_seq + dims[None, :],
             acc.to(o_ptr.dtype.element_ty), mask=rows[:, None] < seq)
    tl.store(lse_ptr + head * seq + rows, m_i + tl.log(l_i), mask=rows < seq)


def attention(q, k, v, causal=True, block_m=32, block_n=32):
    batch, heads, seq, dim = q.shape
    assert q.is_contiguous() and k.is_contiguous() and v.is_contiguous()
    o = torch.empty_like(q)
    lse = torch.empty((batch, heads, seq), device=q.device, dtype=torch.float32)
    grid = (triton.cdiv(seq, block_m), batch * heads)
    attention_kernel[grid](q, k, v, o, lse, seq, 1.0 / math.sqrt(dim), q.stride(1), q.stride(2),
                           CAUSAL=causal, DIM=dim, BLOCK_M=block_m, BLOCK_N=block_n, num_warps=4)
    return o, lse


def reference(q, k, v, causal=True):
    scores = q.float() @ k.float().transpose(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        seq = q.shape[2]
        hide = torch.ones(seq, seq, dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(hide, -float("inf"))
    return torch.softmax(scores, dim=-1) @ v.float(), torch.logsumexp(scores, dim=-1)


def bytes_moved(shape, itemsize=2):
    return 4 * shape.batch * shape.heads * shape.seq * shape.dim * itemsize


def test(shape=Shape(1, 2, 96, 32), tol=1e-2):
    torch.manual_seed(0)
    q, k, v = (torch.randn(shape, device="cuda", dtype=torch.float16) for _ in range(3))
    o, lse = attention(q, k, v)
    o_ref, lse_ref = reference(q, k, v)
    assert (lse - lse_ref).abs().max() < tol, "log-sum-exp differs"
    assert (o.float() - o_ref).abs().max() < tol, "attention output differs"
    print("flash_forward ok", shape)


if __name__ == "__main__":
    test()
