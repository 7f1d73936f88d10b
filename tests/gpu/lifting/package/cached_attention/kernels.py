"""The kernels. Program (i, j) has tile i of the head j, heads counted through the whole batch."""

import triton
import triton.language as tl

from .offsets import head_offset, load_tile, store_tile


@triton.jit
def scores_tile(q, k, q_rows, k_rows, q_len, k_len, scale, CAUSAL: tl.constexpr):
    """Scaled products, minus infinity where a query may not look. The last query sees all keys."""
    scores = tl.dot(q, tl.trans(k)) * scale
    seen = (k_rows < k_len)[None, :]
    if CAUSAL:
        seen = seen & (q_rows[:, None] + (k_len - q_len) >= k_rows[None, :])
    return tl.where(seen, scores, float("-inf"))


@triton.jit
def forward_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    lse_ptr,
    heads,
    q_len,
    k_len,
    scale,
    q_stride_b,
    q_stride_h,
    q_stride_row,
    k_stride_b,
    k_stride_h,
    k_stride_row,
    CAUSAL: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    batch = tl.program_id(1) // heads
    head = tl.program_id(1) % heads
    q_start = head_offset(batch, head, q_stride_b, q_stride_h)
    k_start = head_offset(batch, head, k_stride_b, k_stride_h)
    q_rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    q = load_tile(q_ptr + q_start, q_rows, q_len, q_stride_row, WIDTH)
    top = tl.full([BLOCK_Q], -1.0e30, tl.float32)
    total = tl.zeros([BLOCK_Q], tl.float32)
    out = tl.zeros([BLOCK_Q, WIDTH], tl.float32)
    for start in range(0, k_len, BLOCK_K):
        k_rows = start + tl.arange(0, BLOCK_K)
        k = load_tile(k_ptr + k_start, k_rows, k_len, k_stride_row, WIDTH)
        scores = scores_tile(q, k, q_rows, k_rows, q_len, k_len, scale, CAUSAL)
        new_top = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new_top[:, None])
        shrink = tl.exp(top - new_top)
        v = load_tile(v_ptr + k_start, k_rows, k_len, k_stride_row, WIDTH)
        total = total * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights.to(v.dtype), v)
        top = new_top
    store_tile(out_ptr + q_start, (out / total[:, None]).to(q.dtype), q_rows, q_len, q_stride_row, WIDTH)
    tl.store(lse_ptr + tl.program_id(1) * q_len + q_rows, top + tl.log(total), mask=q_rows < q_len)


@triton.jit
def delta_kernel(
    out_ptr,
    grad_ptr,
    delta_ptr,
    heads,
    q_len,
    stride_b,
    stride_h,
    stride_row,
    WIDTH: tl.constexpr,
    BLOCK_Q: tl.constexpr,
):
    """Row sums of out * grad, which the softmax derivative needs."""
    start = head_offset(tl.program_id(1) // heads, tl.program_id(1) % heads, stride_b, stride_h)
    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    out = load_tile(out_ptr + start, rows, q_len, stride_row, WIDTH).to(tl.float32)
    grad = load_tile(grad_ptr + start, rows, q_len, stride_row, WIDTH).to(tl.float32)
    tl.store(delta_ptr + tl.program_id(1) * q_len + rows, tl.sum(out * grad, axis=1), mask=rows < q_len)


@triton.jit
def backward_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    grad_ptr,
    lse_ptr,
    delta_ptr,
    grad_q_ptr,
    heads,
    q_len,
    k_len,
    scale,
    q_stride_b,
    q_stride_h,
    q_stride_row,
    k_stride_b,
    k_stride_h,
    k_stride_row,
    CAUSAL: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """Gradient of the queries; the cache takes none."""
    index = tl.program_id(1)
    q_start = head_offset(index // heads, index % heads, q_stride_b, q_stride_h)
    k_start = head_offset(index, index % heads, k_stride_b, k_stride_h)
    q_rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    inside = q_rows < q_len
    q = load_tile(q_ptr + q_start, q_rows, q_len, q_stride_row, WIDTH)
    grad = load_tile(grad_ptr + q_start, q_rows, q_len, q_stride_row, WIDTH)
    lse = tl.load(lse_ptr + index * q_len + q_rows, mask=inside, other=0.0)
    delta = tl.load(delta_ptr + index * q_len + q_rows, mask=inside, other=0.0)
    grad_q = tl.zeros([BLOCK_Q, WIDTH], tl.float32)
    for start in range(0, k_len, BLOCK_K):
        k_rows = start + tl.arange(0, BLOCK_K)
        k = load_tile(k_ptr + k_start, k_rows, k_len, k_stride_row, WIDTH)
        v = load_tile(v_ptr + k_start, k_rows, k_len, k_stride_row, WIDTH)
        scores = scores_tile(q, k, q_rows, k_rows, q_len, k_len, scale, CAUSAL)
        weights = tl.exp(scores - lse[:, None])
        grad_scores = weights * (tl.dot(grad, tl.trans(v)) - delta[:, None]) * scale
        grad_q += tl.dot(grad_scores.to(k.dtype), k)
    store_tile(grad_q_ptr + q_start, grad_q.to(q.dtype), q_rows, q_len, q_stride_row, WIDTH)
