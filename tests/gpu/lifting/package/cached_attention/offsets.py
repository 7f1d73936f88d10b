"""Where a head begins, and one tile of it: shared by all kernels."""

import triton
import triton.language as tl


@triton.jit
def head_offset(batch, head, stride_batch, stride_head):
    return batch.to(tl.int64) * stride_batch + head.to(tl.int64) * stride_head


@triton.jit
def load_tile(ptr, rows, limit, stride_row, WIDTH: tl.constexpr):
    """[len(rows), WIDTH]; zeros beyond `limit`."""
    cols = tl.arange(0, WIDTH)
    at = rows[:, None] * stride_row + cols[None, :]
    return tl.load(ptr + at, mask=(rows < limit)[:, None], other=0.0)


@triton.jit
def store_tile(ptr, tile, rows, limit, stride_row, WIDTH: tl.constexpr):
    cols = tl.arange(0, WIDTH)
    at = rows[:, None] * stride_row + cols[None, :]
    tl.store(ptr + at, tile, mask=(rows < limit)[:, None])
