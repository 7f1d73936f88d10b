"""Layer scale in Gluon, y = x * gamma + residual; the vectorised variant adds values that live in two layouts."""

import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

VARIANTS = {"scalar": 1, "vectorised": 4}


@gluon.jit
def load_tile(ptr, row, stride, rows, columns, BLOCK_M: gl.constexpr, BLOCK_N: gl.constexpr, layout: gl.constexpr):
    r = row + gl.arange(0, BLOCK_M, layout=gl.SliceLayout(1, layout))
    c = gl.arange(0, BLOCK_N, layout=gl.SliceLayout(0, layout))
    inside = (r < rows)[:, None] & (c < columns)[None, :]
    return gl.load(ptr + r[:, None] * stride + c[None, :], mask=inside, other=0.0)


@gluon.jit
def layer_scale_kernel(
    x_ptr, gamma_ptr, residual_ptr, out_ptr, rows, columns,
    BLOCK_M: gl.constexpr, BLOCK_N: gl.constexpr, VECTOR: gl.constexpr,
):
    plain: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
    wide: gl.constexpr = gl.BlockedLayout([1, VECTOR], [4, 8], [4, 1], [1, 0])
    layout: gl.constexpr = plain if VECTOR == 1 else wide
    row = gl.program_id(0) * BLOCK_M
    x = load_tile(x_ptr, row, columns, rows, columns, BLOCK_M, BLOCK_N, layout)
    cols = gl.arange(0, BLOCK_N, layout=gl.SliceLayout(0, layout))
    gamma = gl.load(gamma_ptr + cols, mask=cols < columns, other=0.0)
    residual = load_tile(residual_ptr, row, columns, rows, columns, BLOCK_M, BLOCK_N, plain)
    y = x * gamma[None, :] + residual
    r = row + gl.arange(0, BLOCK_M, layout=gl.SliceLayout(1, layout))
    inside = (r < rows)[:, None] & (cols < columns)[None, :]
    gl.store(out_ptr + r[:, None] * columns + cols[None, :], y, mask=inside)


def layer_scale(x: torch.Tensor, gamma: torch.Tensor, residual: torch.Tensor, vector: int) -> torch.Tensor:
    rows, columns = x.shape
    out = torch.empty_like(x)
    layer_scale_kernel[(triton.cdiv(rows, 16),)](
        x, gamma, residual, out, rows, columns,
        BLOCK_M=16, BLOCK_N=triton.next_power_of_2(columns), VECTOR=vector, num_warps=4,
    )
    return out


class Block:
    def __init__(self, columns: int, vector: int):
        self.gamma = torch.full((columns,), 0.1, device="cuda")
        self.vector = vector

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return layer_scale(torch.tanh(x), self.gamma, x, self.vector)


def main() -> None:
    torch.manual_seed(0)
    x = torch.randn(40, 128, device="cuda")
    for name, vector in VARIANTS.items():
        torch.testing.assert_close(Block(128, vector)(x), torch.tanh(x) * 0.1 + x)
        print(name, "ok")


if __name__ == "__main__":
    main()
