# shrink --oracle "compile:Loop-carried variable best has initial type" -- smallest: one kernel with a loop that turns an integer into a float, and triton.compile for a named target
"""Compiles a row arg-max kernel for Hopper ahead of time; no GPU, no torch."""

import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def scaled(x, scale):
    return x.to(tl.float32) * scale


@triton.jit
def row_max_kernel(x_ptr, out_ptr, cols, scale, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    best = 0
    for start in range(0, cols, BLOCK):
        mask = start + offsets < cols
        x = tl.load(x_ptr + row * cols + start + offsets, mask=mask, other=float("-inf"))
        best = tl.maximum(best, tl.max(scaled(x, scale), axis=0))
    tl.store(out_ptr + row, best)


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, cols, scale, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    total = 0.0
    for start in range(0, cols, BLOCK):
        mask = start + offsets < cols
        total += tl.sum(scaled(tl.load(x_ptr + row * cols + start + offsets, mask=mask, other=0.0), scale), axis=0)
    tl.store(out_ptr + row, total)


SIGNATURE = {"x_ptr": "*fp16", "out_ptr": "*fp32", "cols": "i32", "scale": "fp32", "BLOCK": "constexpr"}


def build(kernel, block: int, capability: int = 90) -> int:
    source = ASTSource(fn=kernel, signature=SIGNATURE, constexprs={"BLOCK": block})
    compiled = triton.compile(source, target=GPUTarget("cuda", capability, 32), options={"num_warps": 4})
    return len(compiled.asm["cubin"])


def main() -> int:
    for kernel in (row_sum_kernel, row_max_kernel):
        for block in (128, 1024):
            print(kernel.fn.__name__, block, build(kernel, block) > 0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
