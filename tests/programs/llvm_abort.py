# shrink --oracle signal:SIGABRT -- smallest: one kernel with the inline assembly whose constraints name too many inputs, and triton.compile for a named target
"""Compiles an element-wise kernel with inline PTX for Hopper; LLVM aborts on its constraint string. No GPU, no torch."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def fast_rsqrt(x):
    return tl.inline_asm_elementwise("rsqrt.approx.f32 $0, $1;", "=r,r", [x], dtype=tl.float32, is_pure=True, pack=1)


@triton.jit
def fast_fma(x, y):
    return tl.inline_asm_elementwise(
        "fma.rn.f32 $0, $1, $2, $1;", "=r,r,r,r", [x, y], dtype=tl.float32, is_pure=True, pack=1
    )


@triton.jit
def norm_kernel(x_ptr, out_ptr, count, BLOCK: tl.constexpr, FUSED: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < count, other=1.0)
    inverse = fast_rsqrt(x * x + 1e-6)
    if FUSED:
        y = fast_fma(x, inverse)
    else:
        y = x * inverse + x
    tl.store(out_ptr + offsets, y, mask=offsets < count)


def build(block, fused):
    signature = {"x_ptr": "*fp32", "out_ptr": "*fp32", "count": "i32", "BLOCK": "constexpr", "FUSED": "constexpr"}
    source = ASTSource(fn=norm_kernel, signature=signature, constexprs={"BLOCK": block, "FUSED": fused})
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4})


for fused in (False, True):
    for block in (256, 1024):
        print(fused, block, build(block, fused).metadata.shared)
