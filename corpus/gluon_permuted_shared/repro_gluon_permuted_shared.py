import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def f(x_ptr, m, n):
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
    tall = gl.arange(0, 32, layout=gl.SliceLayout(1, layout))
    wide = gl.arange(0, 32, layout=gl.SliceLayout(0, layout))
    row = gl.program_id(0) * 32
    col = gl.program_id(1) * 32
    gl.allocate_shared_memory(
        gl.float32, [32, 32],
        gl.SwizzledSharedLayout(vec=1, per_phase=1, max_phase=32, order=[1, 0]),
        gl.load(
            x_ptr + ((row + tall)[:, None] * n + (col + wide)[None, :]),
            mask=((row + tall) < m)[:, None] & ((col + wide) < n)[None, :], other=0.0,
        ),
    ).permute((1, 0)).load(layout)


x = torch.randn((64, 64), device="cuda")
m, n = x.shape
f[(triton.cdiv(m, 32), triton.cdiv(n, 32))](x, m, n, num_warps=4)
