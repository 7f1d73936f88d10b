# shrink --oracle "compile:CompilationError"
# lure: the second kernel, whose turn never comes: it fails in the same class, of another error
# must: tl\.dot\(
# ends: 1 Input shapes should have
# fault: compile .*Input shapes should have
# naive: no guards
"""Builds all kernels for a tile that the tuner proposes; the first that cannot have it ends the build."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def product_kernel(x_ptr, y_ptr, z_ptr, BLOCK: tl.constexpr):
    rows = tl.arange(0, 32)
    inner = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + rows[:, None] * BLOCK + inner[None, :])
    y = tl.load(y_ptr + inner[:, None] * 32 + rows[None, :])
    tl.store(z_ptr + rows[:, None] * 32 + rows[None, :], tl.dot(x, y))


@triton.jit
def copy_kernel(x_ptr, y_ptr, z_ptr, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    tl.store(z_ptr + cols, tl.load(x_ptr + cols) + tl.load(y_ptr + cols))


def build(kernel, block):
    signature = {"x_ptr": "*fp16", "y_ptr": "*fp16", "z_ptr": "*fp32", "BLOCK": "constexpr"}
    source = ASTSource(fn=kernel, signature=signature, constexprs={"BLOCK": block})
    return triton.compile(source, target=GPUTarget("cuda", 90, 32))


def build_all(inner, width):
    print("product", build(product_kernel, inner).name)
    print("copy", build(copy_kernel, width).name)


build_all(inner=8, width=24)
