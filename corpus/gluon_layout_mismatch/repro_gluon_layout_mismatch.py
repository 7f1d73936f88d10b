import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def g(ptr, row, layout):
    r = row + gl.arange(0, 16, layout=gl.SliceLayout(1, layout))
    c = gl.arange(0, 128, layout=gl.SliceLayout(0, layout))
    return gl.load(
        ptr + r[:, None] * 128 + c[None, :], mask=(r < 40)[:, None] & (c < 128)[None, :], other=0.0
    )


@gluon.jit
def f(x_ptr, y, x):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    row = gl.program_id(0) * 16
    cols = gl.arange(0, 128, layout=gl.SliceLayout(0, layout))
    g(x_ptr, row, layout) * gl.load(y + cols, mask=cols < 128, other=0.0)[None, :] + g(
        x, row, gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
    )


f[(3,)](
    torch.zeros(40, 128, device="cuda"), torch.zeros(128, device="cuda"),
    torch.zeros(40, 128, device="cuda"),
)
