"""The kernels: a matmul whose left side comes by descriptors, one a slice, and element-wise work around it."""

import triton
import triton.language as tl


@triton.jit
def swizzle(pid, tiles_m, tiles_n, GROUP: tl.constexpr):
    width = GROUP * tiles_n
    first = (pid // width) * GROUP
    height = tl.minimum(tiles_m - first, GROUP)
    return first + (pid % width) % height, (pid % width) // height


@triton.jit
def silu(x):
    return x * tl.sigmoid(x)


@triton.jit
def grouped_kernel(
    x_ptr, w_ptr, y_ptr, rows, columns, depth, slices,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
    ACTIVATE: tl.constexpr, SLICED: tl.constexpr,
):
    tile_m, tile_n = swizzle(tl.program_id(0), tl.cdiv(rows, BLOCK_M), tl.cdiv(columns, BLOCK_N), GROUP)
    row = tile_m * BLOCK_M
    col = tile_n * BLOCK_N
    rm = row + tl.arange(0, BLOCK_M)
    rn = col + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    whole = tl.make_tensor_descriptor(x_ptr, shape=[rows, depth], strides=[depth, 1], block_shape=[BLOCK_M, BLOCK_K])
    for step in range(0, slices):
        k = step * BLOCK_K
        if SLICED:
            part = tl.make_tensor_descriptor(
                x_ptr + k, shape=[rows, BLOCK_K], strides=[depth, 1], block_shape=[BLOCK_M, BLOCK_K]
            )
            left = part.load([row, 0])
        else:
            left = whole.load([row, k])
        right = tl.load(w_ptr + (k + rk)[:, None] * columns + rn[None, :], mask=(rn < columns)[None, :], other=0.0)
        acc = tl.dot(left, right, acc)
    if ACTIVATE:
        acc = silu(acc)
    inside = (rm < rows)[:, None] & (rn < columns)[None, :]
    tl.store(y_ptr + rm[:, None] * columns + rn[None, :], acc.to(tl.float16), mask=inside)


@triton.jit
def row_scale_kernel(y_ptr, scale_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    scale = tl.load(scale_ptr + row)
    for start in range(0, columns, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        y = tl.load(y_ptr + row * columns + cols, mask=cols < columns, other=0.0)
        tl.store(y_ptr + row * columns + cols, (y * scale).to(tl.float16), mask=cols < columns)
