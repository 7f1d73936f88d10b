"""Transposes a matrix in Gluon: through shared memory, whose view is permuted before it is read back."""

import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

TILE = 32


@gluon.jit
def tile_offsets(rows, cols, stride):
    return rows[:, None] * stride + cols[None, :]


@gluon.jit
def transpose_kernel(x_ptr, out_ptr, m, n, TILE: gl.constexpr, WARPS: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [WARPS, 1], [1, 0])
    shared: gl.constexpr = gl.SwizzledSharedLayout(vec=1, per_phase=1, max_phase=32, order=[1, 0])
    tall = gl.arange(0, TILE, layout=gl.SliceLayout(1, layout))
    wide = gl.arange(0, TILE, layout=gl.SliceLayout(0, layout))
    row = gl.program_id(0) * TILE
    col = gl.program_id(1) * TILE
    inside = ((row + tall) < m)[:, None] & ((col + wide) < n)[None, :]
    x = gl.load(x_ptr + tile_offsets(row + tall, col + wide, n), mask=inside, other=0.0)
    smem = gl.allocate_shared_memory(gl.float32, [TILE, TILE], shared, x)
    turned = smem.permute((1, 0)).load(layout)
    inside = ((col + tall) < n)[:, None] & ((row + wide) < m)[None, :]
    gl.store(out_ptr + tile_offsets(col + tall, row + wide, m), turned, mask=inside)


@gluon.jit
def copy_kernel(x_ptr, out_ptr, count, BLOCK: gl.constexpr, WARPS: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [WARPS], [0])
    offsets = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    gl.store(out_ptr + offsets, gl.load(x_ptr + offsets, mask=offsets < count), mask=offsets < count)


def copy(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    copy_kernel[(triton.cdiv(x.numel(), 512),)](x, out, x.numel(), BLOCK=512, WARPS=4, num_warps=4)
    return out


def transpose(x: torch.Tensor) -> torch.Tensor:
    m, n = x.shape
    out = torch.empty(n, m, device=x.device)
    transpose_kernel[(triton.cdiv(m, TILE), triton.cdiv(n, TILE))](x, out, m, n, TILE=TILE, WARPS=4, num_warps=4)
    return out


def main() -> None:
    torch.manual_seed(0)
    for shape in ((64, 64), (100, 40)):
        x = torch.randn(shape, device="cuda")
        torch.testing.assert_close(copy(x), x)
        torch.testing.assert_close(transpose(x), x.T)
        print(shape, "ok")


if __name__ == "__main__":
    main()
