# shrink --skip-pass lift --oracle "compile:CompilationError[\s\S]*must be a power of 2"
# lure: a window that the kernel's own assertion refuses in the same words, once the loop is gone that adds it up
# must: tl\.arange\(0, [^)]
# ends: 1 arange's range must be a power of 2\s*$
# fault: arange
# naive: output must be a power of 2
"""Checks that the pooling kernel compiles for every window of the model."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

WINDOWS = ((16, 16), (32, 16))


@triton.jit
def refused(WINDOW: tl.constexpr):
    tl.static_assert(WINDOW > 16, "WINDOW must be a power of 2 above 16; small windows have a kernel of their own")


@triton.jit
def pool_kernel(x_ptr, out_ptr, stride, WINDOW: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, WINDOW if WINDOW > 16 else refused(WINDOW))
    x = tl.load(x_ptr + row * stride + offsets)
    mean = tl.sum(x, axis=0) / WINDOW
    tl.store(out_ptr + row, mean)


def build(parts):
    window = 0
    for part in parts:
        window += part
    signature = {"x_ptr": "*fp16", "out_ptr": "*fp32", "stride": "i32", "WINDOW": "constexpr"}
    source = ASTSource(fn=pool_kernel, signature=signature, constexprs={"WINDOW": window})
    return triton.compile(source, target=GPUTarget("cuda", 90, 32))


for parts in WINDOWS:
    compiled = build(parts)
    print(parts, len(compiled.asm["ptx"]))
